import type { Clock } from '@picket/lib/clock.ts';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Days } from '@picket/platform/store/days/days.ts';
import { divideResults } from '@picket/platform/store/days/result-division.ts';
import { divideRuns } from '@picket/platform/store/days/run-division.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type pg from 'pg';

const lookEveryMs = 60_000;
const againMs = 2_000;
const progressEveryMs = 10_000;
/** Rows that are kept longer have a partition for each week: every statement without a time looks into all. */
const mostDailyDays = 62;

/** Which table is kept divided. */
export interface Divided {
  readonly daysOf: (repositories: Pick<Repositories, 'resultDays' | 'runDays'>) => Days;
  /** Converts a table that has rows; false: to be tried again. */
  readonly divide: (client: pg.Client, now: number, logger: Logger, isFirstTry: boolean) => Promise<boolean>;
  /** How far a statement of it is that takes long. */
  readonly progress?: (store: Pick<Store, 'resultDays'>) => ReturnType<Store['resultDays']['buildProgress']>;
}

export const dividedResults: Divided = {
  daysOf: ({ resultDays }) => resultDays,
  divide: divideResults,
  progress: ({ resultDays }) => resultDays.buildProgress(),
};

export const dividedRuns: Divided = { daysOf: ({ runDays }) => runDays, divide: divideRuns };

export interface DayKeeperOptions extends Divided {
  readonly store: Pick<Store, 'resultDays' | 'runDays' | 'transaction' | 'withOwnConnection'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For how long rows are kept. */
  readonly keptMs: number;
}

/**
 * Work of the leader on PostgreSQL: makes partitions of a table of an older store, and partitions ahead of time,
 * so that no row finds none. Both go on while rows come; where others hold the table, it is tried again.
 */
export class DayKeeper {
  readonly #options: DayKeeperOptions;
  readonly #lengthDays: number;
  /** What a conversion uses. */
  #client: pg.Client | undefined;
  #isStopping = false;
  #tries = 0;
  /** Days whose rows are outside. */
  readonly #left = new Set<string>();

  constructor(options: DayKeeperOptions) {
    this.#options = options;
    this.#lengthDays = options.keptMs > mostDailyDays * 86_400_000 ? 7 : 1;
  }

  async turn(): Promise<number | null> {
    const { store, clock, logger, daysOf } = this.#options;
    const days = daysOf(store);
    const table = days.table.name;
    if (!days.areKnown) return null;
    if (!(await days.isDivided()) && !(await this.#divide())) return clock.wallMs() + againMs;
    const now = clock.wallMs();
    const missing = days.missing(await days.parts(), now, this.#lengthDays);
    for (const stretch of missing) {
      const from = new Date(stretch.from).toISOString();
      try {
        const isAdded = await store.transaction((repositories) => daysOf(repositories).add(stretch));
        if (!isAdded && !this.#left.has(from)) {
          this.#left.add(from);
          logger.warn({ table, from }, 'too many rows belong to no day partition; they are not moved');
        }
      } catch (thrown) {
        if (!isLockTimeout(thrown)) throw thrown;
        logger.debug({ table, from }, 'table is locked; creating the partition later');
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
    const { store, clock, logger, divide } = this.#options;
    this.#tries += 1;
    const telling = setInterval(() => void this.#logProgress(), progressEveryMs);
    try {
      const isDone = await store.withOwnConnection?.(async (client) => {
        this.#client = client;
        return this.#isStopping ? false : await divide(client, clock.wallMs(), logger, this.#tries === 1);
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
    const { store, logger, progress: progressOf } = this.#options;
    try {
      const progress = await progressOf?.(store);
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
