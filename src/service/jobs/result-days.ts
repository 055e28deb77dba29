import type pg from 'pg';
import type { Clock } from '../../lib/clock.ts';
import { errorCodeOf, toError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { divideOnline } from '../store/days/online-division.ts';
import type { Store } from '../store.ts';

const lookEveryMs = 60_000;
const againMs = 2_000;
const progressEveryMs = 10_000;
/** Results that are kept longer have a partition for each week: every statement without a time looks into all. */
const mostDailyDays = 62;

export interface ResultDaysOptions {
  readonly store: Pick<Store, 'resultDays' | 'transaction' | 'withOwnConnection'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For how long results are kept. */
  readonly resultsMs: number;
}

/**
 * Work of the leader on PostgreSQL: makes partitions of the results of an older store, and partitions ahead of time,
 * so that no result finds none. Both go on while results come; where others hold the table, it is tried again.
 */
export class ResultDaysKeeper {
  readonly #options: ResultDaysOptions;
  readonly #lengthDays: number;
  /** What a conversion uses. */
  #client: pg.Client | undefined;
  #isStopping = false;
  /** Days whose results are outside. */
  readonly #left = new Set<string>();

  constructor(options: ResultDaysOptions) {
    this.#options = options;
    this.#lengthDays = options.resultsMs > mostDailyDays * 86_400_000 ? 7 : 1;
  }

  async turn(): Promise<number | null> {
    const { store, clock, logger } = this.#options;
    if (!store.resultDays.areKnown) return null;
    if (!(await store.resultDays.isDivided()) && !(await this.#divide())) return clock.wallMs() + againMs;
    const now = clock.wallMs();
    const missing = store.resultDays.missing(await store.resultDays.parts(), now, this.#lengthDays);
    for (const stretch of missing) {
      const from = new Date(stretch.from).toISOString();
      try {
        const isAdded = await store.transaction(({ resultDays }) => resultDays.add(stretch));
        if (!isAdded && !this.#left.has(from)) {
          this.#left.add(from);
          logger.warn({ from }, 'too many results are outside of all days to be moved: they stay there');
        }
      } catch (thrown) {
        if (!isLockTimeout(thrown)) throw thrown;
        logger.debug({ from }, 'others hold the results: a partition is made later');
        return clock.wallMs() + againMs;
      }
    }
    return now + lookEveryMs;
  }

  /** Ends a conversion under way, which the next leader goes on with. */
  stop(): void {
    this.#isStopping = true;
    void this.#client?.end();
  }

  async #divide(): Promise<boolean> {
    const { store, clock, logger } = this.#options;
    const telling = setInterval(() => void this.#logProgress(), progressEveryMs);
    try {
      const isDone = await store.withOwnConnection?.(async (client) => {
        this.#client = client;
        return this.#isStopping ? false : await divideOnline(client, clock.wallMs(), logger);
      });
      return isDone === true;
    } catch (thrown) {
      if (this.#isStopping) return false;
      throw thrown;
    } finally {
      clearInterval(telling);
      this.#client = undefined;
    }
  }

  async #logProgress(): Promise<void> {
    const { store, logger } = this.#options;
    try {
      const progress = await store.resultDays.buildProgress();
      if (progress) logger.info(progress, 'results become partitions by day: building an index');
    } catch (thrown) {
      logger.debug({ reason: toError(thrown).message }, 'failed to read how far an index is built');
    }
  }
}

/** Whether the database did not get to a table in the time it was given. */
export function isLockTimeout(thrown: unknown): boolean {
  return thrown instanceof Error && [thrown, thrown.cause].some((error) => errorCodeOf(error) === '55P03');
}
