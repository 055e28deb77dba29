import { freeBytes } from './body-bytes.ts';

/** Largest decoded body that a run reads. */
export const largestBodyBytes = 25 * 1024 * 1024;
/** Limit for the bodies of all runs of an agent. */
export const agentBodyBytes = 100 * 1024 * 1024;

/** A run's share of the memory for bodies. */
export interface BodyShare {
  /**
   * Grows the share to this total size.
   *
   * @param onGranted called later, once the memory is available, unless it is available at once.
   * @returns whether it is available at once.
   */
  hold(sizeBytes: number, onGranted: () => void): boolean;
  /** Total time the share has waited, in milliseconds. */
  readonly waitedMs: number;
  /** Adds bytes to the share: they are no longer readable once it is released. */
  own(bytes: Buffer): void;
  /** Releases everything. */
  release(): void;
}

interface Waiting {
  readonly share: Share;
  readonly sizeBytes: number;
  readonly sinceMs: number;
  readonly onGranted: () => void;
}

/**
 * One memory limit for the bodies of all runs of a thread. A run that requests more than is left waits and stops
 * reading. To avoid a deadlock, enough memory for one body of the largest size is reserved for the run that has waited
 * longest: it can always be read to its end.
 */
export class BodyMemory {
  readonly #commonBytes: number;
  #usedBytes = 0;
  /** The share that may use the reserve. */
  #first: Share | undefined;
  readonly #waiting = new Set<Waiting>();

  /** @param largestBytes size limit of one body. */
  constructor(totalBytes: number, largestBytes = largestBodyBytes) {
    this.#commonBytes = Math.max(0, totalBytes - largestBytes);
  }

  /** Memory held by all shares. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  open(): BodyShare {
    return new Share(this);
  }

  /** Grants the request or queues it. */
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

/** Sets the limit for the runs of this thread; call it before the first run. */
export function limitBodyMemory(totalBytes: number): void {
  memory = new BodyMemory(totalBytes);
}

/** The body memory of this thread. */
export function threadBodyMemory(): BodyMemory {
  return memory;
}
