import type { Clock } from '@picket/lib/clock.ts';

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
  /** What is counted for all readings counts from here; undefined before its first tick. */
  since: { readonly tickNumber: number; readonly awayMs: number } | undefined;
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
 *
 * A thousand runs may be under way for seconds. A tick counts for all of them, and is written down once: of the
 * ticks so far those that no later one exceeds, and how long the thread was away in all.
 */
export class LagMeter {
  readonly #clock: Clock;
  readonly #readRunDelayMs: () => number;
  #openCount = 0;
  /** Those that have seen no tick yet: they began in the middle of one. */
  readonly #young = new Set<OpenReading>();
  #tickNumber = 0;
  /** The longest lag falls from each to the next. */
  #peaks: { readonly tickNumber: number; readonly lagMs: number }[] = [];
  #awayMs = 0;
  /** Until where the ticks have counted the run delay. */
  #countedRunDelayMs = 0;
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

  /** Counts the ticks that a reading has seen after its first. */
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
