import type { Clock } from '../lib/clock.ts';

const tickMs = 10;
/** Runs that begin or end together share one reading of the run delay. */
const runDelayAgeMs = 1;

/** One run that wants to know how late its thread was while it ran. */
export interface LagReading {
  /**
   * How late the thread was so far, in milliseconds: the longest its event loop was, or how long the thread wanted a
   * processor and had none, whichever is more. Ends the reading.
   */
  stop(): number;
}

/**
 * Watches how late this thread is. The event loop: a timer that should tick every 10 ms and is looked at for how much
 * later it came. It ticks only while somebody reads. A run shorter than a tick still learns of a thread that is late at
 * its end, because a tick that is overdue counts before it has come. The processor: what the system says of the time
 * the thread could have run and did not, which a run made of many short steps suffers from without any long one.
 */
export class LagMeter {
  readonly #clock: Clock;
  readonly #readRunDelayMs: () => number;
  readonly #readings = new Set<{ maxLagMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #dueAtMs = 0;
  #runDelay = { readAtMs: Number.NEGATIVE_INFINITY, totalMs: 0 };

  /** @param runDelayMs how long the thread has waited for a processor since it began, where that is known. */
  constructor(clock: Clock, runDelayMs?: (() => number) | undefined) {
    this.#clock = clock;
    this.#readRunDelayMs = runDelayMs ?? (() => 0);
  }

  start(): LagReading {
    const startedMs = this.#clock.monotonicMs();
    const reading = { maxLagMs: 0 };
    const runDelayMs = this.#runDelayMs(startedMs);
    this.#readings.add(reading);
    if (!this.#timer) {
      this.#dueAtMs = startedMs + tickMs;
      this.#timer = setInterval(() => this.#tick(), tickMs);
    }
    return {
      stop: () => {
        const nowMs = this.#clock.monotonicMs();
        const overdueMs = Math.max(0, nowMs - this.#dueAtMs);
        this.#readings.delete(reading);
        if (this.#readings.size === 0) {
          clearInterval(this.#timer);
          this.#timer = undefined;
        }
        return Math.max(reading.maxLagMs, overdueMs, this.#runDelayMs(nowMs) - runDelayMs);
      },
    };
  }

  #tick(): void {
    const nowMs = this.#clock.monotonicMs();
    const lagMs = nowMs - this.#dueAtMs;
    this.#dueAtMs = nowMs + tickMs;
    for (const reading of this.#readings) if (lagMs > reading.maxLagMs) reading.maxLagMs = lagMs;
  }

  #runDelayMs(nowMs: number): number {
    if (nowMs - this.#runDelay.readAtMs >= runDelayAgeMs) {
      this.#runDelay = { readAtMs: nowMs, totalMs: this.#readRunDelayMs() };
    }
    return this.#runDelay.totalMs;
  }
}
