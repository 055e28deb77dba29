import { type Clock, ClockListeners } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';

const readEveryMs = 1_000;
/** Maximum drift between two clocks, as a share of the time between two readings. */
const maxDrift = 5e-4;
/** A larger movement of the database's clock means that it was set. */
const setMs = 500;
/** Number of initial readings; the one with the shortest round trip decides. */
const firstReadings = 5;

export interface DatabaseClockOptions {
  /** Source of durations. Its dates are never used. */
  readonly host: Clock;
  /** Reads the database's time, in epoch milliseconds. */
  readonly readMs: () => Promise<number>;
  readonly logger: Logger;
}

/**
 * The time of the database: one clock dates all writes of several service processes, whatever the clocks of their hosts
 * show. It is read every second. The round trip of a reading bounds the offset between the database's clock and this
 * process's monotonic one; consistent readings narrow the bounds. Between readings, or while the database does not
 * respond, the monotonic clock advances the time.
 */
export class DatabaseClock implements Clock {
  readonly #options: DatabaseClockOptions;
  readonly #stopping = new AbortController();
  readonly #listeners = new ClockListeners();
  /** Bounds of the offset from the monotonic clock to the database's clock. */
  #bounds: readonly [lowMs: number, highMs: number] | undefined;
  #readAtMs = 0;

  private constructor(options: DatabaseClockOptions) {
    this.#options = options;
  }

  /** Reads the database's clock, and keeps reading it until closed. */
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

  /** Does not wait for a reading in progress: the database may not respond. */
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
    // The bounds are disjoint: the database's clock was set, or another server took over.
    this.#bounds = seen;
    const movedMs = Math.round((seen[0] + seen[1] - (known?.[0] ?? 0) - (known?.[1] ?? 0)) / 2);
    if (Math.abs(movedMs) <= setMs) return;
    logger.warn({ movedMs }, "the database's clock was set");
    this.#listeners.call();
  }
}
