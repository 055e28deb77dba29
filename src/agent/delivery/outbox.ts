import type { Report } from '../run/contracts.ts';
import type { SpoolKind } from './spool/segment.ts';

/** A report on its way, as far as the main thread has it in memory. */
export interface WaitingReport {
  readonly report: Report;
  readonly kind: SpoolKind;
  /** When it was spooled, epoch milliseconds by the service's clock. */
  readonly atMs: number;
  /** Where it lies on disk, once it does. */
  place: { readonly ref: number; readonly epoch: number } | undefined;
  /**
   * `sending`: the reporter has it. `backlog`: it waits for its turn. `settled`: the service has it, or it
   * was dropped.
   */
  state: 'sending' | 'backlog' | 'settled';
}

/** About how much memory a report takes, in characters. */
export function sizeOf({ report }: WaitingReport): number {
  return report.envelopeJson.length + report.detailJson.length;
}

/** What a batch may hold. Sizes are in characters of JSON, which is close enough to bytes to steer by. */
export interface BatchLimits {
  readonly maxCount: number;
  readonly maxSize: number;
}

/**
 * Fresh reports: those that nobody has tried to send yet, in memory, oldest first. It stays small, so that
 * what comes now is sent now: what does not fit any more is handed to the owner of the outbox, for the
 * backlog.
 */
export class Outbox {
  readonly #limits: BatchLimits;
  readonly #onOverflow: (reports: WaitingReport[]) => void;
  readonly #reports: WaitingReport[] = [];
  #size = 0;

  constructor(options: BatchLimits & { readonly onOverflow: (reports: WaitingReport[]) => void }) {
    this.#limits = options;
    this.#onOverflow = options.onOverflow;
  }

  get count(): number {
    return this.#reports.length;
  }

  add(report: WaitingReport): void {
    this.#reports.push(report);
    this.#size += sizeOf(report);
    const surplus: WaitingReport[] = [];
    while (this.#reports.length > this.#limits.maxCount || this.#size > this.#limits.maxSize) {
      const oldest = this.#reports.shift();
      if (!oldest) break;
      this.#size -= sizeOf(oldest);
      surplus.push(oldest);
    }
    if (surplus.length > 0) this.#onOverflow(surplus);
  }

  /**
   * Takes the oldest reports out, as many as fit a batch, one at least. Those that were dropped meanwhile are
   * left out.
   */
  take(limits: BatchLimits): WaitingReport[] {
    let count = 0;
    let size = 0;
    for (const report of this.#reports) {
      if (count >= limits.maxCount || (count > 0 && size + sizeOf(report) > limits.maxSize)) break;
      count++;
      size += sizeOf(report);
    }
    this.#size -= size;
    return this.#reports.splice(0, count).filter(({ state }) => state === 'sending');
  }

  /** Takes everything out. */
  takeAll(): WaitingReport[] {
    return this.take({ maxCount: Number.POSITIVE_INFINITY, maxSize: Number.POSITIVE_INFINITY });
  }

  /** Whether a batch would be full. */
  fills(limits: BatchLimits): boolean {
    return this.#reports.length >= limits.maxCount || this.#size >= limits.maxSize;
  }
}
