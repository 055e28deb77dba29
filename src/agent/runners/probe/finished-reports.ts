import type { Clock } from '@picket/lib/clock.ts';
import type { FinishedRun } from '../../run/contracts.ts';

/**
 * Reports that a probe thread sends to the main thread. Each message wakes that thread, so a report waits for others as
 * long as it may, and is sent with the first that may not.
 */
export class FinishedReports {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #send: (runs: readonly FinishedRun[]) => void;
  #runs: FinishedRun[] = [];
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(options: {
    readonly clock: Pick<Clock, 'monotonicMs'>;
    readonly send: (runs: readonly FinishedRun[]) => void;
  }) {
    this.#clock = options.clock;
    this.#send = options.send;
  }

  get count(): number {
    return this.#runs.length;
  }

  /** @param waitMs how long the report may wait at most. */
  add(run: FinishedRun, waitMs: number): void {
    this.#runs.push(run);
    if (waitMs === 0) {
      this.sendAll();
      return;
    }
    const atMs = this.#clock.monotonicMs() + waitMs;
    if (atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => this.sendAll(), waitMs);
  }

  /** Sends all that wait. */
  sendAll(): void {
    clearTimeout(this.#timer);
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    if (this.#runs.length === 0) return;
    const runs = this.#runs;
    this.#runs = [];
    this.#send(runs);
  }
}
