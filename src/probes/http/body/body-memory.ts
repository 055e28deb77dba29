import { freeBytes } from './body-bytes.ts';

/** Most of a decoded body that a run reads. */
export const largestBodyBytes = 25 * 1024 * 1024;
/** What the bodies of all runs of an agent may hold together. */
export const agentBodyBytes = 100 * 1024 * 1024;

/** What one run holds of the memory for bodies. */
export interface BodyShare {
  /**
   * Asks for more, so that the share is this large in all.
   *
   * @param onGranted called later, when it is there, unless it is there at once.
   * @returns whether it is there at once.
   */
  hold(sizeBytes: number, onGranted: () => void): boolean;
  /** How long the share has waited in all, in milliseconds. */
  readonly waitedMs: number;
  /** Makes bytes a part of the share: nobody can read them any more once it is released. */
  own(bytes: Buffer): void;
  /** Gives everything back. */
  release(): void;
}

interface Waiting {
  readonly share: Share;
  readonly sizeBytes: number;
  readonly sinceMs: number;
  readonly onGranted: () => void;
}

/**
 * One bound for the bodies of all runs of a thread. Who asks for more than is left waits, and reads nothing
 * meanwhile. So that not all of them wait for each other, enough for one body of the largest size is kept
 * back for the one that has waited longest: it can always be read to its end.
 */
export class BodyMemory {
  readonly #commonBytes: number;
  #usedBytes = 0;
  /** The one that may use what is kept back. */
  #first: Share | undefined;
  readonly #waiting = new Set<Waiting>();

  /** @param largestBytes what one body takes at most. */
  constructor(totalBytes: number, largestBytes = largestBodyBytes) {
    this.#commonBytes = Math.max(0, totalBytes - largestBytes);
  }

  /** What all shares hold together. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  open(): BodyShare {
    return new Share(this);
  }

  /** Grants it, or has it wait. */
  ask(share: Share, sizeBytes: number, onGranted: () => void): boolean {
    if (this.#grants(share, sizeBytes)) return true;
    this.#waiting.add({ share, sizeBytes, sinceMs: performance.now(), onGranted });
    return false;
  }

  giveBack(share: Share): void {
    this.#usedBytes -= share.heldBytes;
    share.heldBytes = 0;
    if (this.#first === share) this.#first = undefined;
    for (const waiting of this.#waiting) {
      if (waiting.share === share) this.#waiting.delete(waiting);
    }
    for (const waiting of [...this.#waiting]) {
      if (!this.#grants(waiting.share, waiting.sizeBytes)) return;
      this.#waiting.delete(waiting);
      waiting.share.waitedMs += performance.now() - waiting.sinceMs;
      waiting.onGranted();
    }
  }

  #grants(share: Share, sizeBytes: number): boolean {
    const addedBytes = Math.max(0, sizeBytes - share.heldBytes);
    const isLeft = this.#usedBytes + addedBytes <= this.#commonBytes;
    if (!isLeft) this.#first ??= share;
    if (!isLeft && this.#first !== share) return false;
    this.#usedBytes += addedBytes;
    share.heldBytes += addedBytes;
    return true;
  }
}

class Share implements BodyShare {
  readonly #memory: BodyMemory;
  heldBytes = 0;
  waitedMs = 0;
  readonly #owned: Buffer[] = [];

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  hold(sizeBytes: number, onGranted: () => void): boolean {
    return sizeBytes <= this.heldBytes || this.#memory.ask(this, sizeBytes, onGranted);
  }

  own(bytes: Buffer): void {
    this.#owned.push(bytes);
  }

  release(): void {
    for (const bytes of this.#owned.splice(0)) freeBytes(bytes);
    this.#memory.giveBack(this);
  }
}

let memory = new BodyMemory(agentBodyBytes);

/** Says how much the runs of this thread may hold; to be called before the first one. */
export function limitBodyMemory(totalBytes: number): void {
  memory = new BodyMemory(totalBytes);
}

/** The memory for bodies of this thread. */
export function threadBodyMemory(): BodyMemory {
  return memory;
}
