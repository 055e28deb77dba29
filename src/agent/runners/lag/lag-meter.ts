import type { Clock } from '@picket/lib/clock.ts';

const tickMs = 10;
/** Runs that start or end together share one reading of the run delay. */
const runDelayAgeMs = 1;

/** How late a thread was during a run. */
export interface ThreadLag {
  /** Longest single lag, in milliseconds. */
  readonly lagMs: number;
  /** Total time away: the sum of all lags of 10 ms or more. */
  readonly awayMs: number;
}

/** Measures the lag of the thread during one run. */
export interface LagReading {
  /** Returns the lag so far and ends the reading. */
  stop(): ThreadLag;
}

interface OpenReading {
  lagMs: number;
  awayMs: number;
  /** Run delay of the thread up to which this reading has counted. */
  runDelayMs: number;
  /** Counting of the shared ticks starts here; undefined before its first tick. */
  since: { readonly tickNumber: number; readonly awayMs: number } | undefined;
}

/**
 * Measures how late this thread is. The event loop: a timer ticks every 10 ms while there are readings, and its delay
 * is measured. A run shorter than a tick also notices a thread that is late at its end, because an overdue tick counts
 * before it arrives. The processor: the system reports how long the thread was runnable without running, which is more
 * precise than ticks for short runs.
 *
 * Small delays do not add up: a thread that is one millisecond late a hundred times has not been away.
 *
 * A thousand runs may be active for seconds. A tick counts for all of them and is recorded once: the meter keeps the
 * ticks that no later tick exceeds, and the total time away.
 */
export class LagMeter {
  readonly #clock: Clock;
  readonly #readRunDelayMs: () => number;
  #openCount = 0;
  /** Readings without a tick so far: they started between two ticks. */
  readonly #young = new Set<OpenReading>();
  #tickNumber = 0;
  /** In order of ticks, with decreasing lag. */
  #peaks: { readonly tickNumber: number; readonly lagMs: number }[] = [];
  #awayMs = 0;
  /** Run delay up to which the ticks have counted. */
  #countedRunDelayMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #dueAtMs = 0;
  #runDelay = { readAtMs: Number.NEGATIVE_INFINITY, totalMs: 0 };

  /** @param runDelayMs how long the thread has waited for a processor since it started, if known. */
  constructor(clock: Clock, runDelayMs?: (() => number) | undefined) {
    this.#clock = clock;
    this.#readRunDelayMs = runDelayMs ?? (() => 0);
  }

  start(): LagReading {
    const startedMs = this.#clock.monotonicMs();
    const runDelayMs = this.#runDelayMs(startedMs);
    const reading: OpenReading = { lagMs: 0, awayMs: 0, runDelayMs, since: undefined };
    this.#young.add(reading);
    this.#openCount += 1;
    if (!this.#timer) {
      this.#dueAtMs = startedMs + tickMs;
      this.#timer = setInterval(() => this.#tick(), tickMs);
    }
    return {
      stop: () => {
        const nowMs = this.#clock.monotonicMs();
        this.#addTicks(reading);
        count(reading, nowMs - this.#dueAtMs, this.#runDelayMs(nowMs));
        this.#young.delete(reading);
        this.#openCount -= 1;
        if (this.#openCount === 0) {
          clearInterval(this.#timer);
          this.#timer = undefined;
          this.#peaks = [];
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
    const lagMs = Math.max(0, lateMs, runDelayMs - this.#countedRunDelayMs);
    this.#countedRunDelayMs = runDelayMs;
    while ((this.#peaks.at(-1)?.lagMs ?? Number.POSITIVE_INFINITY) <= lagMs) this.#peaks.pop();
    this.#peaks.push({ tickNumber: this.#tickNumber, lagMs });
    this.#tickNumber += 1;
    if (lagMs >= tickMs) this.#awayMs += lagMs;
    for (const reading of this.#young) {
      count(reading, lateMs, runDelayMs);
      reading.since = { tickNumber: this.#tickNumber, awayMs: this.#awayMs };
    }
    this.#young.clear();
  }

  /** Adds the ticks since the first tick of a reading. */
  #addTicks(reading: OpenReading): void {
    const { since } = reading;
    if (!since) return;
    const longest = this.#peaks.find(({ tickNumber }) => tickNumber >= since.tickNumber);
    reading.lagMs = Math.max(reading.lagMs, longest?.lagMs ?? 0);
    reading.awayMs += this.#awayMs - since.awayMs;
    reading.runDelayMs = this.#countedRunDelayMs;
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
