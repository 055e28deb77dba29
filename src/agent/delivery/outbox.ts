import type { Report } from '../run/contracts.ts';
import type { SpoolKind } from './spool/segment.ts';

/** A report that is not settled, as the main thread keeps it in memory. */
export interface WaitingReport {
  readonly report: Report;
  readonly kind: SpoolKind;
  /** When it was spooled, in epoch milliseconds by the service's clock. */
  readonly atMs: number;
  /** When it is written to disk unless it is settled by then, on the monotonic clock; not for results from disk. */
  readonly writeAtMs?: number;
  /** Its place on disk, once it is written. */
  place: { readonly ref: number; readonly epoch: number } | undefined;
  /**
   * `sending`: the reporter has it. `backlog`: it waits for its turn. `settled`: the service has it, or it was dropped.
   */
  state: 'sending' | 'backlog' | 'settled';
}

/** How soon a report is sent, and written to disk. */
export interface ReportTiming {
  /** Whether it may wait for others, until a second after its run ended. */
  readonly mayWait: boolean;
  /** When its run ended, on the monotonic clock; defaults to now. */
  readonly endedAtMs?: number | undefined;
}

/** Approximate memory use of a report, in characters. */
export function sizeOf({ report }: WaitingReport): number {
  return report.envelopeJson.length + report.detailJson.length;
}

/** Limits of a batch. Sizes are in characters of JSON, close enough to bytes for this purpose. */
export interface BatchLimits {
  readonly maxCount: number;
  readonly maxSize: number;
}

/**
 * Fresh reports: not sent yet, in memory, oldest first. The outbox stays small, so that new reports are sent at once:
 * if it is full, the oldest go to `onOverflow`, for the backlog.
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

  /** Removes and returns the oldest reports that fit a batch, at least one. Reports dropped meanwhile are left out. */
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

  /** Removes and returns all reports. */
  takeAll(): WaitingReport[] {
    return this.take({ maxCount: Number.POSITIVE_INFINITY, maxSize: Number.POSITIVE_INFINITY });
  }

  /** Whether the reports fill a batch. */
  fills(limits: BatchLimits): boolean {
    return this.#reports.length >= limits.maxCount || this.#size >= limits.maxSize;
  }
}
