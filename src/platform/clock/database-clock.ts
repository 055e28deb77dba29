import { type Clock, ClockListeners } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';

const readEveryMs = 1_000;
/** How far two clocks may drift apart, as a share of the time between two readings. */
const maxDrift = 5e-4;
/** A database's clock that moved further than this was set. */
const setMs = 500;
/** Readings at the start; the one with the shortest way there and back decides. */
const firstReadings = 5;

export interface DatabaseClockOptions {
  /** Where durations come from. Its dates are never used. */
  readonly host: Clock;
  /** The database's time, in epoch milliseconds. */
  readonly readMs: () => Promise<number>;
  readonly logger: Logger;
}

/**
 * The time of the database: all that several service processes write is dated by one clock, whatever the
 * clocks of their hosts show. It is read every second. A reading bounds how far the database's clock is ahead
 * of this process's monotonic one, by the time it took; bounds of readings that agree are narrowed, and
 * between readings, or while the database does not answer, the monotonic clock goes on.
 */
export class DatabaseClock implements Clock {
  readonly #options: DatabaseClockOptions;
  readonly #stopping = new AbortController();
  readonly #listeners = new ClockListeners();
  /** The database's clock is ahead of the monotonic one by something between these two. */
  #bounds: readonly [lowMs: number, highMs: number] | undefined;
  #readAtMs = 0;

  private constructor(options: DatabaseClockOptions) {
    this.#options = options;
  }

  /** Reads the database's clock, and goes on reading it until it is closed. */
  static async open(options: DatabaseClockOptions): Promise<DatabaseClock> {
    const clock = new DatabaseClock(options);
    for (let count = 0; count < firstReadings; count += 1) await clock.#read();
    const offMs = Math.round(options.host.wallMs() - clock.wallMs());
    if (Math.abs(offMs) > setMs) {
      options.logger.warn(
        { aheadMs: offMs },
        "the host's clock differs from the database's, which dates everything",
      );
    }
    void clock.#keepReading();
    return clock;
  }

  wallMs(): number {
    if (!this.#bounds) throw new Error('the database clock was used before it was read');
    const [lowMs, highMs] = this.#bounds;
    return Math.floor(this.#options.host.monotonicMs() + (lowMs + highMs) / 2);
  }

  monotonicMs(): number {
    return this.#options.host.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#options.host.sleep(ms, signal);
  }

  onSet(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** A reading under way is not waited for: the database may not answer. */
  close(): void {
    this.#stopping.abort();
  }

  async #keepReading(): Promise<void> {
    const { host, logger } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await host.sleep(readEveryMs, signal);
      if (signal.aborted) return;
      try {
        await this.#read();
      } catch (thrown) {
        logger.debug({ reason: toError(thrown).message }, "failed to read the database's clock; retrying");
      }
    }
  }

  async #read(): Promise<void> {
    const { host, readMs, logger } = this.#options;
    const askedAtMs = host.monotonicMs();
    const databaseMs = await readMs();
    const answeredAtMs = host.monotonicMs();
    const seen = [databaseMs - answeredAtMs, databaseMs - askedAtMs] as const;
    const known = this.#bounds;
    const driftMs = (answeredAtMs - this.#readAtMs) * maxDrift;
    this.#readAtMs = answeredAtMs;
    const lowMs = Math.max(seen[0], (known?.[0] ?? -Infinity) - driftMs);
    const highMs = Math.min(seen[1], (known?.[1] ?? Infinity) + driftMs);
    if (lowMs <= highMs) {
      this.#bounds = [lowMs, highMs];
      return;
    }
    // They do not agree: the database's clock was set, or another server took over.
    this.#bounds = seen;
    const movedMs = Math.round((seen[0] + seen[1] - (known?.[0] ?? 0) - (known?.[1] ?? 0)) / 2);
    if (Math.abs(movedMs) <= setMs) return;
    logger.warn({ movedMs }, "the database's clock was set");
    this.#listeners.call();
  }
}
