import { randomBytes } from 'node:crypto';
import { backoffDelayMs, type Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Store } from '@picket/platform/store/store.ts';
import {
  attemptsColumn,
  dimensionColumn,
  locationColumn,
  ordinalColumn,
  responseColumn,
  statusColumn,
  timeColumn,
} from '@picket/service/results/columns/result-frame.ts';
import type { FeedState } from '@picket/service/results/fed-results.ts';
import { ClickHouseError, type ClickHouseServer } from './clickhouse-server.ts';
import type { ClickHouseFigures } from './figures.ts';
import { metricNames, ResultTable, type SealedChunk } from './result-table.ts';

export interface FeedOptions {
  readonly store: Store;
  readonly server: ClickHouseServer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly figures: Pick<ClickHouseFigures, 'countFed' | 'countFailure'>;
  /** The period that analytics cover. */
  readonly analyticsMs: number;
}

const checksPerPage = 200;
/** Size of an insert: enough rows for a part of their own, and few days, because each day becomes a part. */
const rowsPerInsert = 20_000;
const daysPerInsert = 50;
const chunksPerInsert = 500;
const dayMs = 86_400_000;
/** Pause between two rounds over all checks. */
const restMs = 60_000;
/** How long a turn waits until rows are removed, and the poll interval. */
const longestRemovalMs = 60_000;
const lookAgainMs = 200;
const pauses = { baseMs: 1_000, capMs: 30_000 } as const;

const names = [
  ...[timeColumn, ordinalColumn, attemptsColumn, responseColumn],
  ...[locationColumn, statusColumn, dimensionColumn],
  ...metricNames(),
];

/** A chunk to insert, and the cursor of its check afterwards. */
interface NextChunk extends SealedChunk {
  readonly until: number;
}

/**
 * Copies sealed results to ClickHouse, chunk by chunk in the order of each check, and advances the check's cursor after
 * each insert. A chunk inserted twice after a lost response counts once (result-table.ts). Each process first removes
 * rows beyond the cursors: they come from a process that ended in between, or from a history that a restored database
 * does not have. If its table is missing, the feed restarts with a table of another name.
 */
export class ClickHouseFeed {
  readonly #options: FeedOptions;
  #failures = 0;
  #hasRemovedAhead = false;
  #isStopping = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** Feeds sealed results; returns when to continue. */
  async turn(): Promise<number> {
    const { clock, logger, figures } = this.#options;
    try {
      await this.#round();
      if (this.#failures > 0) logger.info('ClickHouse accepts results again');
      this.#failures = 0;
      return clock.wallMs() + restMs;
    } catch (thrown) {
      if (!(thrown instanceof ClickHouseError)) throw thrown;
      figures.countFailure('feed');
      if (this.#failures === 0) {
        logger.warn({ reason: thrown.message }, 'ClickHouse rejects results; they wait in the database');
      }
      this.#failures += 1;
      return clock.wallMs() + 250 + backoffDelayMs(this.#failures, pauses);
    }
  }

  /** Ends a turn in progress after the current insert. */
  stop(): void {
    this.#isStopping = true;
  }

  async close(): Promise<void> {
    await this.#options.server.close();
  }

  async #round(): Promise<void> {
    const { store, clock, analyticsMs } = this.#options;
    const { table, feed } = await this.#table();
    if (!this.#hasRemovedAhead) await this.#removeAhead(table);
    this.#hasRemovedAhead = true;
    await this.#removeGone(table);
    for await (const page of this.#pages()) {
      const behind = page.filter(({ fedUntil, sealedUntil }) => sealedUntil > (fedUntil ?? 0));
      await this.#feedSome(table, feed, behind);
    }
    if (this.#isStopping) return;
    const trusted = await store.retired.trustedUntil();
    if (trusted !== null) await table.removeBefore(trusted - analyticsMs);
    await store.fedResults.setLevel(feed, clock.wallMs());
  }

  /** The table of the current feed, with a column for every metric. */
  async #table(): Promise<{ readonly table: ResultTable; readonly feed: string }> {
    const { store, server, clock, logger } = this.#options;
    const present = await store.fedResults.feed();
    if (present) {
      const table = new ResultTable(server, present.name);
      const columns = await table.columns();
      if (columns.size > 0) {
        const missing = metricNames().filter((name) => !columns.has(name));
        if (missing.length > 0) await table.add(missing);
        return { table, feed: present.name };
      }
    }
    const feed = randomBytes(4).toString('hex');
    await store.transaction((repositories) => repositories.fedResults.begin(feed, clock.wallMs()));
    const table = new ResultTable(server, feed);
    await table.create();
    logger.info({ table: table.name }, 'results are fed to a new table of ClickHouse, the oldest first');
    return { table, feed };
  }

  async #removeAhead(table: ResultTable): Promise<void> {
    const { clock, logger } = this.#options;
    let isRemoving = false;
    for await (const page of this.#pages()) {
      const cursors = page.flatMap(({ checkId, fedUntil }) =>
        fedUntil === null ? [] : [[checkId, fedUntil] as const],
      );
      isRemoving = (await table.removeSince(cursors)) || isRemoving;
    }
    if (!isRemoving) return;
    logger.info('rows that were inserted behind the cursors are removed from ClickHouse');
    const deadlineMs = clock.monotonicMs() + longestRemovalMs;
    while (await table.isRemoving()) {
      if (this.#isStopping || clock.monotonicMs() > deadlineMs) {
        throw new ClickHouseError('it has not removed rows yet', null);
      }
      await clock.sleep(lookAgainMs);
    }
  }

  /** All checks with their cursors, in pages. */
  async *#pages(): AsyncGenerator<readonly FeedState[]> {
    for (let last = ''; !this.#isStopping; ) {
      const page = await this.#options.store.fedResults.statesAfter(last, checksPerPage);
      yield page;
      if (page.length < checksPerPage) return;
      last = page.at(-1)?.checkId ?? last;
    }
  }

  async #removeGone(table: ResultTable): Promise<void> {
    const { store } = this.#options;
    const gone = await store.fedResults.gone(checksPerPage);
    if (gone.length === 0) return;
    await table.removeChecks(gone);
    await store.fedResults.forget(gone);
  }

  /** Feeds some checks, one chunk of each at a time, so that chunks of the same days are inserted together. */
  async #feedSome(table: ResultTable, feed: string, states: readonly FeedState[]): Promise<void> {
    const { store } = this.#options;
    await store.fedResults.register(
      feed,
      states.flatMap(({ checkId, fedUntil }) => (fedUntil === null ? [checkId] : [])),
    );
    const since = new Map(states.map(({ checkId, fedUntil }) => [checkId, fedUntil ?? 0]));
    let waiting: NextChunk[] = [];
    const flush = async () => {
      await this.#insert(table, feed, waiting);
      waiting = [];
    };
    while (since.size > 0) {
      for (const [checkId, from] of since) {
        const next = await store.resultColumns.nextSealed(checkId, from, names);
        if (!next) {
          since.delete(checkId);
          continue;
        }
        since.set(checkId, next.until);
        waiting.push({ checkId, ...next });
        if (isEnough(waiting)) await flush();
        if (this.#isStopping) return;
      }
    }
    await flush();
  }

  async #insert(table: ResultTable, feed: string, chunks: readonly NextChunk[]): Promise<void> {
    if (chunks.length === 0) return;
    const { store, figures } = this.#options;
    await table.insert(chunks);
    const untilOf = new Map(chunks.map(({ checkId, until }) => [checkId, until]));
    await store.transaction((repositories) => repositories.fedResults.advance(feed, untilOf));
    figures.countFed(chunks.reduce((sum, { frame }) => sum + frame.rowCount, 0));
  }
}

function isEnough(chunks: readonly NextChunk[]): boolean {
  if (chunks.length >= chunksPerInsert) return true;
  const rows = chunks.reduce((sum, { frame }) => sum + frame.rowCount, 0);
  // The days of each chunk's end, and the days before.
  const days = new Set(
    chunks.flatMap(({ until }) => [Math.floor(until / dayMs), Math.floor(until / dayMs) - 1]),
  );
  return rows >= rowsPerInsert || days.size >= daysPerInsert;
}
