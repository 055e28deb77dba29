import { uptime } from 'node:os';
import { type Clock, ClockListeners } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';

const lookEveryMs = 1_000;
/** Larger differences to the host's clock are jumps; smaller ones are corrected gradually. */
const jumpMs = 1_000;
/** Rate of gradual correction, in milliseconds per second. */
const slewPerSecondMs = 5;
/** How long the host's clock must persist after a jump before its new time is adopted. */
const holdMs = 60_000;

export interface SteadyClockOptions {
  readonly host: Clock;
  readonly logger: Logger;
  /** Uptime of the machine in milliseconds, including sleep. */
  readonly uptimeMs?: () => number;
}

/**
 * The host's clock without its jumps, for a service that is the only process of its database. Between two readings the
 * monotonic clock advances the time. Small differences are corrected gradually. A jump is adopted once the host's clock
 * has kept the new time for a minute: a jump forward and back leaves no trace in slots and leases. Only sleep of the
 * machine is adopted at once.
 */
export class SteadyClock implements Clock {
  readonly #host: Clock;
  readonly #logger: Logger;
  readonly #uptimeMs: () => number;
  readonly #stopping = new AbortController();
  readonly #listeners = new ClockListeners();
  /** Offset from the monotonic clock. */
  #aheadMs: number;
  #lookedAtMs: number;
  #asleepMs: number;
  #jump: { readonly aheadMs: number; readonly sinceMs: number } | undefined;

  private constructor({ host, logger, uptimeMs = () => uptime() * 1000 }: SteadyClockOptions) {
    this.#host = host;
    this.#logger = logger;
    this.#uptimeMs = uptimeMs;
    this.#lookedAtMs = host.monotonicMs();
    this.#aheadMs = host.wallMs() - this.#lookedAtMs;
    this.#asleepMs = uptimeMs() - this.#lookedAtMs;
  }

  static open(options: SteadyClockOptions): SteadyClock {
    const clock = new SteadyClock(options);
    void clock.#keepLooking();
    return clock;
  }

  wallMs(): number {
    return Math.floor(this.#host.monotonicMs() + this.#aheadMs);
  }

  monotonicMs(): number {
    return this.#host.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#host.sleep(ms, signal);
  }

  onSet(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  close(): void {
    this.#stopping.abort();
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#host.sleep(lookEveryMs, signal);
      if (!signal.aborted) this.look();
    }
  }

  /** Compares this clock with the host's and corrects it. */
  look(): void {
    const nowMs = this.#host.monotonicMs();
    const hostAheadMs = this.#host.wallMs() - nowMs;
    const asleepMs = this.#uptimeMs() - nowMs;
    const elapsedMs = nowMs - this.#lookedAtMs;
    this.#lookedAtMs = nowMs;
    const sleptMs = asleepMs - this.#asleepMs;
    this.#asleepMs = asleepMs;
    if (sleptMs > jumpMs) {
      this.#aheadMs += sleptMs;
      this.#listeners.call();
    }
    const offMs = hostAheadMs - this.#aheadMs;
    if (Math.abs(offMs) <= jumpMs) {
      if (this.#jump) this.#logger.warn('the host clock returned to its previous time; the jump was ignored');
      this.#jump = undefined;
      const mostMs = (slewPerSecondMs * elapsedMs) / 1000;
      this.#aheadMs += Math.max(-mostMs, Math.min(mostMs, offMs));
      return;
    }
    const isNew = !this.#jump || Math.abs(this.#jump.aheadMs - hostAheadMs) > jumpMs;
    if (isNew) {
      this.#jump = { aheadMs: hostAheadMs, sinceMs: nowMs };
      this.#logger.warn(
        { offMs: Math.round(offMs), heldMs: holdMs },
        'the host clock jumped; the new time is adopted if it persists',
      );
    } else if (this.#jump && nowMs - this.#jump.sinceMs >= holdMs) {
      this.#aheadMs = hostAheadMs;
      this.#jump = undefined;
      this.#logger.warn(
        { movedMs: Math.round(offMs) },
        'the new time of the host clock persisted and was adopted',
      );
      this.#listeners.call();
    }
  }
}
