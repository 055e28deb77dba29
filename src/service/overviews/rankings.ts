import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { askedBy } from '@picket/lib/turns/asker.ts';
import { dayMs } from '@picket/platform/store/days/day-ranges.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { noCoverage } from '@picket/protocol/runs/coverage.ts';
import type { AnalyticsThread } from '../results/analytics/analytics-thread.ts';
import { aggregateView } from '../results/reports/check-report.ts';

/** Checks whose figures are requested together: others of the account need not wait for all of them. */
const portion = 50;
/** Figures are not computed again before this time. */
const keptMs = 60_000;
/** Maximum share of time for computing the figures of an account, regardless of the number of readers. */
const shareOfTime = 0.05;
/** Older figures are not shown: the reader waits for new ones. */
const longestShownMs = 15 * 60_000;
/** Limit of checks in memory, of all accounts together: some 20 MB. */
const keptChecks = 200_000;

/** Figures of a check over the last 24 hours. */
export interface DayFigures {
  /** Percent; null without measured runs. */
  readonly availability: number | null;
  readonly p95Ms: number | null;
}

/** Figures of all checks of an account. */
export interface DayStanding {
  /** End of the 24 hours, in epoch milliseconds. */
  readonly asOf: number;
  readonly figures: ReadonlyMap<string, DayFigures>;
}

interface Kept {
  readonly standing: DayStanding;
  readonly tookMs: number;
}

/**
 * Figures of all checks of an account over the last 24 hours, by which they can be sorted. No table has them, as they
 * change with every minute that passes: they are computed when someone asks, a few checks at a time, and kept in memory.
 * Until they are a minute old, or twenty times as old as computing them took, they are reused; older ones are shown
 * while new ones are being computed.
 */
export class Rankings {
  readonly #store: Store;
  readonly #analytics: Pick<AnalyticsThread, 'report'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #kept = new LruMap<string, Kept>(keptChecks, ({ standing }) => 1 + standing.figures.size);
  readonly #computing = new Map<string, Promise<DayStanding>>();

  constructor(parts: {
    readonly store: Store;
    readonly analytics: Pick<AnalyticsThread, 'report'>;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    this.#store = parts.store;
    this.#analytics = parts.analytics;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /**
   * Returns the newest figures of an account, or undefined if they are not ready within the time.
   *
   * @param stop ends the wait early.
   * @throws AppError STORE_UNAVAILABLE if the database does not respond.
   */
  async of(accountId: string, maxWaitMs: number, stop: AbortSignal): Promise<DayStanding | undefined> {
    const now = this.#clock.wallMs();
    const kept = this.#kept.get(accountId);
    const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : Math.abs(now - kept.standing.asOf);
    if (kept && ageMs < Math.max(keptMs, kept.tookMs / shareOfTime)) return kept.standing;
    const computing = this.#compute(accountId);
    if (kept && ageMs < longestShownMs) return kept.standing;
    const waited = new AbortController();
    const tooLate = this.#clock
      .sleep(maxWaitMs, AbortSignal.any([stop, waited.signal]))
      .then(() => undefined);
    try {
      return await Promise.race([computing, tooLate]);
    } finally {
      waited.abort();
    }
  }

  #compute(accountId: string): Promise<DayStanding> {
    const known = this.#computing.get(accountId);
    if (known) return known;
    const begunMs = performance.now();
    // The reader who asked first may leave: others use the figures as well.
    const computing = askedBy({ key: accountId }, () => this.#standingOf(accountId))
      .then((standing) => {
        this.#kept.set(accountId, { standing, tookMs: performance.now() - begunMs });
        return standing;
      })
      .finally(() => this.#computing.delete(accountId));
    this.#computing.set(accountId, computing);
    computing.catch((thrown: unknown) =>
      this.#logger.debug(
        { reason: toError(thrown).message, accountId },
        'figures of checks wait for the database',
      ),
    );
    return computing;
  }

  async #standingOf(accountId: string): Promise<DayStanding> {
    const asOf = this.#clock.wallMs();
    const window = { from: asOf - dayMs, to: asOf + 1 };
    const checks = await this.#store.overviews.matching(accountId, {}, { now: asOf });
    const figures = new Map<string, DayFigures>();
    for (let start = 0; start < checks.length; start += portion) {
      const some = checks.slice(start, start + portion);
      const runs = await this.#analytics.report(some, window);
      for (const { id, checkType } of some) {
        const { successRatio, p95 } = aggregateView(checkType, runs.get(id), noCoverage);
        figures.set(id, { availability: successRatio, p95Ms: p95 });
      }
    }
    return { asOf, figures };
  }
}
