import type { Clock } from '../lib/clock.ts';

const tickMs = 10;

/** One run that wants to know how late its thread was while it ran. */
export interface LagReading {
  /** The longest the thread was late so far, in milliseconds. Ends the reading. */
  stop(): number;
}

/**
 * Watches how late this thread's event loop is: a timer that should tick every 10 ms and is looked at for how much
 * later it came. It ticks only while somebody reads. A run shorter than a tick still learns of a thread that is late at
 * its end, because a tick that is overdue counts before it has come.
 */
export class LagMeter {
  readonly #clock: Clock;
  readonly #readings = new Set<{ maxLagMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #dueAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): LagReading {
    const reading = { maxLagMs: 0 };
    this.#readings.add(reading);
    if (!this.#timer) {
      this.#dueAtMs = this.#clock.monotonicMs() + tickMs;
      this.#timer = setInterval(() => this.#tick(), tickMs);
    }
    return {
      stop: () => {
        const overdueMs = Math.max(0, this.#clock.monotonicMs() - this.#dueAtMs);
        this.#readings.delete(reading);
        if (this.#readings.size === 0) {
          clearInterval(this.#timer);
          this.#timer = undefined;
        }
        return Math.max(reading.maxLagMs, overdueMs);
      },
    };
  }

  #tick(): void {
    const nowMs = this.#clock.monotonicMs();
    const lagMs = nowMs - this.#dueAtMs;
    this.#dueAtMs = nowMs + tickMs;
    for (const reading of this.#readings) if (lagMs > reading.maxLagMs) reading.maxLagMs = lagMs;
  }
}
