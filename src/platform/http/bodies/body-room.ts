/** All large bodies that are received or worked on at one time, and those of one sender. */
const allBytes = 64 * 1024 * 1024;
const senderBytes = 16 * 1024 * 1024;

interface Waiting {
  readonly sender: string;
  readonly bytes: number;
  readonly enter: () => void;
}

/**
 * Room for large bodies: a body costs several times its size while it is read, parsed and stored. Who finds
 * none waits, in order, without having been read. One sender has a part of it only, and a body that is larger
 * than its part has it to itself.
 */
export class BodyRoom {
  readonly #bySender = new Map<string, number>();
  #taken = 0;
  #waiting: Waiting[] = [];

  /**
   * Waits for room; what it resolves with gives the room back. When `gone` aborts while it waits, the place
   * in the queue is given up and nothing is taken.
   */
  async enter(sender: string, bodyBytes: number, gone: AbortSignal): Promise<() => void> {
    const bytes = Math.min(bodyBytes, senderBytes);
    const entered = Promise.withResolvers<boolean>();
    const entry: Waiting = { sender, bytes, enter: () => entered.resolve(true) };
    const giveUp = () => {
      this.#waiting = this.#waiting.filter((one) => one !== entry);
      entered.resolve(false);
    };
    this.#waiting.push(entry);
    gone.addEventListener('abort', giveUp, { once: true });
    this.#letIn();
    const isIn = await entered.promise;
    gone.removeEventListener('abort', giveUp);
    let isLeft = !isIn;
    return () => {
      if (isLeft) return;
      isLeft = true;
      this.#leave(sender, bytes);
    };
  }

  #letIn(): void {
    this.#waiting = this.#waiting.filter((entry) => {
      const own = this.#bySender.get(entry.sender) ?? 0;
      if (own + entry.bytes > senderBytes || this.#taken + entry.bytes > allBytes) return true;
      this.#bySender.set(entry.sender, own + entry.bytes);
      this.#taken += entry.bytes;
      entry.enter();
      return false;
    });
  }

  #leave(sender: string, bytes: number): void {
    const left = (this.#bySender.get(sender) ?? 0) - bytes;
    if (left > 0) this.#bySender.set(sender, left);
    else this.#bySender.delete(sender);
    this.#taken -= bytes;
    this.#letIn();
  }
}
