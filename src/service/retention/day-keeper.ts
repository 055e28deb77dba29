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
/** With longer retention, partitions cover a week: every statement without a time range searches all of them. */
const mostDailyDays = 62;

/** A table to be partitioned. */
export interface Divided {
  readonly daysOf: (repositories: Pick<Repositories, 'resultDays' | 'runDays'>) => Days;
  /** Converts a table that has rows; false: retry later. */
  readonly divide: (client: pg.Client, now: number, logger: Logger, isFirstTry: boolean) => Promise<boolean>;
  /** Progress of its long-running statement. */
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
  /** How long rows are kept. */
  readonly keptMs: number;
}

/**
 * Job of the leader on PostgreSQL: partitions the table of an older store, and creates partitions ahead of time, so
 * that every row has one. Both run while rows arrive; if others lock the table, they are retried.
 */
export class DayKeeper {
  readonly #options: DayKeeperOptions;
  readonly #lengthDays: number;
  /** Connection of a running conversion. */
  #client: pg.Client | undefined;
  #isStopping = false;
  #tries = 0;
  /** Days with rows outside of partitions. */
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

  /** Stops a running conversion, which the next leader continues. */
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

/** Whether the database could not lock a table in the given time. */
export function isLockTimeout(thrown: unknown): boolean {
  return thrown instanceof Error && [thrown, thrown.cause].some((error) => errorCodeOf(error) === '55P03');
}
