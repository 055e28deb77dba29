import { Repository } from '@picket/platform/store/engine/repository.ts';

/** How far the sealed results of a check have been copied to ClickHouse. */
export interface Fed {
  /** Feed, and thus table, that they are in. */
  readonly feed: string;
  readonly until: number;
}

/** A check whose sealed results may be ahead of the feed. */
export interface FeedState {
  readonly checkId: string;
  readonly fedUntil: number | null;
  readonly sealedUntil: number;
}

/** State of the ClickHouse feed in the database: its name, and a cursor for each check. */
export class FedResults extends Repository {
  /** The current feed, and when everything sealed had last been fed. */
  async feed(): Promise<{ readonly name: string; readonly levelAt: number } | undefined> {
    const row = await this.db.selectFrom('result_feeds').selectAll().executeTakeFirst();
    return row && { name: row.name, levelAt: row.level_at };
  }

  /** Starts a new feed from the oldest chunk of every check, within a transaction. */
  async begin(name: string, now: number): Promise<void> {
    const before = await this.feed();
    await this.db.deleteFrom('fed_results').execute();
    await this.db.deleteFrom('result_feeds').execute();
    const levelAt = before?.levelAt ?? now;
    await this.db.insertInto('result_feeds').values({ name, level_at: levelAt }).execute();
  }

  async setLevel(feed: string, now: number): Promise<void> {
    await this.db.updateTable('result_feeds').set({ level_at: now }).where('name', '=', feed).execute();
  }

  async of(checkId: string): Promise<Fed | undefined> {
    const row = await this.db
      .selectFrom('fed_results')
      .select(['feed', 'fed_until'])
      .where('check_id', '=', checkId)
      .executeTakeFirst();
    return row && { feed: row.feed, until: row.fed_until };
  }

  /** A batch of checks after an id, ordered by id. */
  async statesAfter(checkId: string, limit: number): Promise<FeedState[]> {
    const rows = await this.db
      .selectFrom('checks')
      .leftJoin('fed_results', 'fed_results.check_id', 'checks.id')
      .select((eb) => [
        'checks.id as id',
        'fed_results.fed_until as fed',
        eb
          .selectFrom('result_chunks')
          .select('to_ms')
          .whereRef('result_chunks.check_id', '=', 'checks.id')
          .orderBy('from_ms', 'desc')
          .limit(1)
          .as('sealed'),
      ])
      .where('checks.id', '>', checkId)
      .orderBy('checks.id')
      .limit(limit)
      .execute();
    return rows.map(({ id, fed, sealed }) => ({ checkId: id, fedUntil: fed, sealedUntil: sealed ?? 0 }));
  }

  /** Records that checks may have rows, before any of their rows are inserted. */
  async register(feed: string, checkIds: readonly string[]): Promise<void> {
    if (checkIds.length === 0) return;
    await this.db
      .insertInto('fed_results')
      .values(checkIds.map((id) => ({ check_id: id, feed, fed_until: 0 })))
      .onConflict((conflict) => conflict.column('check_id').doNothing())
      .execute();
  }

  /** Advances cursors after an insert, never moving them back. */
  async advance(feed: string, untilOf: ReadonlyMap<string, number>): Promise<void> {
    for (const [checkId, until] of untilOf) {
      await this.db
        .updateTable('fed_results')
        .set({ fed_until: until })
        .where('check_id', '=', checkId)
        .where('feed', '=', feed)
        .where('fed_until', '<', until)
        .execute();
    }
  }

  /** Resets the cursor of a check, so that all its chunks are fed again. */
  async feedAgain(checkId: string): Promise<void> {
    await this.db.updateTable('fed_results').set({ fed_until: 0 }).where('check_id', '=', checkId).execute();
  }

  /** Checks that may have rows and have been deleted. */
  async gone(limit: number): Promise<string[]> {
    const rows = await this.db
      .selectFrom('fed_results')
      .leftJoin('checks', 'checks.id', 'fed_results.check_id')
      .select('fed_results.check_id as id')
      .where('checks.id', 'is', null)
      .limit(limit)
      .execute();
    return rows.map(({ id }) => id);
  }

  async forget(checkIds: readonly string[]): Promise<void> {
    await this.db.deleteFrom('fed_results').where(this.dialect.inList('check_id', checkIds)).execute();
  }
}
