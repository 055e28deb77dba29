import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Store } from '@picket/platform/store/store.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** A clock further ahead of the time known to have passed is not trusted at once. */
const plausibleMs = dayMs;
/** How long such a clock must continue, while the service runs, before it is trusted. */
const provenAfterMs = dayMs;
const writeEveryMs = hourMs;

export interface TrustedTimeOptions {
  readonly store: Pick<Store, 'retired'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The time that is safe to base deletion on. A wrong clock must not delete history: the latest instant known to have
 * passed is stored, and a clock more than a day ahead of it (of the service's last hours, and of its uptime since) is
 * not trusted for a day. Until then, time continues from the stored instant. A service that was off for a month thus
 * deletes a day later than it could.
 */
export class TrustedTime {
  readonly #store: Pick<Store, 'retired'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #known: { readonly at: number; readonly readAtMs: number } | undefined;
  /** How long the current doubt has lasted while a service ran; undefined without a doubt. */
  #doubtedMs: number | undefined;
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(options: TrustedTimeOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  async now(): Promise<number> {
    const clockMs = this.#clock.wallMs();
    const monotonicMs = this.#clock.monotonicMs();
    const known = this.#known ?? {
      at: (await this.#store.retired.trustedUntil()) ?? clockMs,
      readAtMs: monotonicMs,
    };
    const passedMs = known.at + monotonicMs - known.readAtMs;
    const isPlausible = clockMs - passedMs <= plausibleMs;
    if (!isPlausible) await this.#doubt(clockMs - passedMs, monotonicMs - known.readAtMs);
    const isBelieved = isPlausible || (this.#doubtedMs ?? 0) >= provenAfterMs;
    if (isBelieved) this.#doubtedMs = undefined;
    const at = Math.floor(isBelieved ? clockMs : passedMs);
    this.#known = { at, readAtMs: monotonicMs };
    await this.#remember(at);
    return at;
  }

  async #doubt(aheadMs: number, elapsedMs: number): Promise<void> {
    if (this.#doubtedMs !== undefined) {
      this.#doubtedMs += elapsedMs;
      return;
    }
    this.#doubtedMs = await this.#store.retired.doubtedMs();
    this.#logger.warn(
      { aheadMs: Math.round(aheadMs), believedAfterMs: Math.max(0, provenAfterMs - this.#doubtedMs) },
      'the clock is far ahead of stored times; retention pauses for a day. Correct the clock if it is wrong',
    );
  }

  async #remember(at: number): Promise<void> {
    if (at >= this.#writtenAt && at - this.#writtenAt < writeEveryMs) return;
    await this.#store.retired.setTrustedUntil(at, this.#doubtedMs ?? 0);
    this.#writtenAt = at;
  }
}
