/** Capacity for large bodies being received or processed: in total, and per sender. */
const allBytes = 64 * 1024 * 1024;
const senderBytes = 16 * 1024 * 1024;

interface Waiting {
  readonly sender: string;
  readonly bytes: number;
  readonly enter: () => void;
}

/**
 * Capacity for large bodies: a body costs several times its size while it is read, parsed and stored. A request without
 * capacity waits in order, unread. One sender gets only part of the capacity; a larger body takes that whole part.
 */
export class BodyRoom {
  readonly #bySender = new Map<string, number>();
  #taken = 0;
  #waiting: Waiting[] = [];

  /**
   * Waits for capacity and returns a function that releases it. If `gone` aborts during the wait, the entry leaves the
   * queue and takes nothing.
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
