import type { Clock } from '../../../lib/clock.ts';

const tickMs = 10;
/** Runs that begin or end together share one reading of the run delay. */
const runDelayAgeMs = 1;

/** How late a thread was while a run was under way. */
export interface ThreadLag {
  /** The longest it was late at one time, in milliseconds. */
  readonly lagMs: number;
  /** How long it was away in all: the sum of the times it was late by 10 ms or more. */
  readonly awayMs: number;
}

/** One run that wants to know how late its thread was while it ran. */
export interface LagReading {
  /** How late the thread was so far. Ends the reading. */
  stop(): ThreadLag;
}

interface OpenReading {
  lagMs: number;
  awayMs: number;
  /** Until where the run delay of the thread is counted in. */
  runDelayMs: number;
}

/**
 * Watches how late this thread is. The event loop: a timer that should tick every 10 ms and is looked at for
 * how much later it came. It ticks only while somebody reads. A run shorter than a tick still learns of a
 * thread that is late at its end, because a tick that is overdue counts before it has come. The processor:
 * what the system says of the time the thread could have run and did not, from tick to tick, which says more
 * of short runs than ticks do.
 *
 * Many small delays do not add up: a meter that is itself a millisecond late a hundred times has been away
 * for nothing.
 */
export class LagMeter {
  readonly #clock: Clock;
  readonly #readRunDelayMs: () => number;
  readonly #readings = new Set<OpenReading>();
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
    const reading: OpenReading = { lagMs: 0, awayMs: 0, runDelayMs: this.#runDelayMs(startedMs) };
    this.#readings.add(reading);
    if (!this.#timer) {
      this.#dueAtMs = startedMs + tickMs;
      this.#timer = setInterval(() => this.#tick(), tickMs);
    }
    return {
      stop: () => {
        const nowMs = this.#clock.monotonicMs();
        count(reading, nowMs - this.#dueAtMs, this.#runDelayMs(nowMs));
        this.#readings.delete(reading);
        if (this.#readings.size === 0) {
          clearInterval(this.#timer);
          this.#timer = undefined;
        }
        return { lagMs: reading.lagMs, awayMs: reading.awayMs };
      },
    };
  }

  #tick(): void {
    const nowMs = this.#clock.monotonicMs();
    const lateMs = nowMs - this.#dueAtMs;
    this.#dueAtMs = nowMs + tickMs;
    const runDelayMs = this.#runDelayMs(nowMs);
    for (const reading of this.#readings) count(reading, lateMs, runDelayMs);
  }

  #runDelayMs(nowMs: number): number {
    if (nowMs - this.#runDelay.readAtMs >= runDelayAgeMs) {
      this.#runDelay = { readAtMs: nowMs, totalMs: this.#readRunDelayMs() };
    }
    return this.#runDelay.totalMs;
  }
}

function count(reading: OpenReading, lateMs: number, runDelayMs: number): void {
  const lagMs = Math.max(0, lateMs, runDelayMs - reading.runDelayMs);
  reading.runDelayMs = runDelayMs;
  reading.lagMs = Math.max(reading.lagMs, lagMs);
  if (lagMs >= tickMs) reading.awayMs += lagMs;
}
