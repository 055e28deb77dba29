import type { FinishedRun } from './worker-message.ts';

/** What a batch may hold. Sizes are in characters of JSON, which is close enough to bytes to steer by. */
export interface BatchLimits {
  readonly maxCount: number;
  readonly maxSize: number;
}

/**
 * Reports that wait to be sent, in memory, oldest first. Bounded by size: when full, the oldest are dropped, and whoever
 * made the outbox is told of each. The reporter needs nothing else of it, so a spool on disk can take its place.
 */
export class Outbox {
  readonly #maxSize: number;
  readonly #onDropped: (run: FinishedRun) => void;
  readonly #runs: FinishedRun[] = [];
  #size = 0;

  constructor(options: { readonly maxSize: number; readonly onDropped: (run: FinishedRun) => void }) {
    this.#maxSize = options.maxSize;
    this.#onDropped = options.onDropped;
  }

  get count(): number {
    return this.#runs.length;
  }

  get size(): number {
    return this.#size;
  }

  add(run: FinishedRun): void {
    this.#runs.push(run);
    this.#size += sizeOf(run);
    this.#dropOldest();
  }

  /** Takes the oldest reports out, as many as fit a batch, one at least. */
  take(limits: BatchLimits): FinishedRun[] {
    let count = 0;
    let size = 0;
    for (const run of this.#runs) {
      if (count >= limits.maxCount || (count > 0 && size + sizeOf(run) > limits.maxSize)) break;
      count++;
      size += sizeOf(run);
    }
    this.#size -= size;
    return this.#runs.splice(0, count);
  }

  /** Returns reports that could not be sent to the head of the line. */
  putBack(runs: readonly FinishedRun[]): void {
    this.#runs.unshift(...runs);
    for (const run of runs) this.#size += sizeOf(run);
    this.#dropOldest();
  }

  /** Whether a batch would be full. */
  fills(limits: BatchLimits): boolean {
    return this.#runs.length >= limits.maxCount || this.#size >= limits.maxSize;
  }

  #dropOldest(): void {
    while (this.#size > this.#maxSize) {
      const oldest = this.#runs.shift();
      if (!oldest) return;
      this.#size -= sizeOf(oldest);
      this.#onDropped(oldest);
    }
  }
}

function sizeOf(run: FinishedRun): number {
  return run.envelopeJson.length + run.detailJson.length;
}
