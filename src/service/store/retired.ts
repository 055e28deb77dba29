import { type Kysely, sql } from 'kysely';
import type { Dialect } from './dialect.ts';
import type { ArtifactRow, Tables } from './tables.ts';

/**
 * Removal of what is too old, in batches: each call is one short statement, so that claims and results never wait for
 * long. Nothing here is on its way: results are final or attempts of runs that ended long ago, runs are terminal.
 */
export class Retired {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  /** Results of a check created before an instant, oldest first. */
  async resultIds(checkId: string, before: number, limit: number): Promise<string[]> {
    const rows = await this.#db
      .selectFrom('results')
      .select('id')
      .where('check_id', '=', checkId)
      .where('created', '<', before)
      .orderBy('created')
      .limit(limit)
      .execute();
    return rows.map((row) => row.id);
  }

  /** Removes results and what is known of their artifacts. The bytes have to be gone before: the rows remember them. */
  async removeResults(ids: readonly string[]): Promise<void> {
    await this.#db.deleteFrom('artifacts').where(this.#dialect.inList('result_id', ids)).execute();
    await this.#db.deleteFrom('results').where(this.#dialect.inList('id', ids)).execute();
  }

  /** Artifacts that are kept and were announced before an instant. */
  async artifacts(before: number, limit: number): Promise<ArtifactRow[]> {
    return this.#db
      .selectFrom('artifacts')
      .selectAll()
      .where('state', '=', sql.lit('stored' as const))
      .where('created', '<', before)
      .orderBy('created')
      .limit(limit)
      .execute();
  }

  /** Marks an artifact whose bytes were removed. */
  async forgetArtifact(row: ArtifactRow, reason: string): Promise<void> {
    await this.#db
      .updateTable('artifacts')
      .set({ state: 'lost', reason })
      .where('result_id', '=', row.result_id)
      .where('position', '=', row.position)
      .execute();
  }

  /** Removes up to `limit` runs that ended before an instant; returns how many. */
  async removeRuns(before: number, limit: number): Promise<number> {
    const some = this.#db
      .selectFrom('runs')
      .select('id')
      .where('ended', 'is not', null)
      .where('ended', '<', before)
      .orderBy('ended')
      .limit(limit);
    const done = await this.#db.deleteFrom('runs').where('id', 'in', some).executeTakeFirst();
    return Number(done.numDeletedRows);
  }

  /** Removes up to `limit` fenced results received before an instant; returns how many. */
  async removeStaleResults(before: number, limit: number): Promise<number> {
    const some = this.#db
      .selectFrom('stale_results')
      .select('id')
      .where('received', '<', before)
      .orderBy('received')
      .limit(limit);
    const done = await this.#db.deleteFrom('stale_results').where('id', 'in', some).executeTakeFirst();
    return Number(done.numDeletedRows);
  }

  /** Ids of all checks after one, in order. */
  async checkIdsAfter(id: string, limit: number): Promise<string[]> {
    const rows = await this.#db
      .selectFrom('checks')
      .select('id')
      .where('id', '>', id)
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map((row) => row.id);
  }
}
