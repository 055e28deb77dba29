import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine/dialect.ts';
import type { Tables } from '../tables.ts';
import { Days, type Part } from './days.ts';
import { isUnfinished } from './ended-day.ts';
import { resultTables } from './result-tables.ts';

/** Results in daily partitions by their time of storage. */
export class ResultDays extends Days {
  constructor(db: Kysely<Tables>, dialect: Dialect) {
    super(db, dialect, resultTables);
  }

  /** Whether analytics have not yet processed results of a partition, or a run in progress may need one of them. */
  async isNeeded(part: Part): Promise<boolean> {
    const table = sql.table(part.name);
    const { rows: unsealed } = await sql`
      select from checks left join lateral (
        select to_ms from result_chunks where check_id = checks.id order by from_ms desc limit 1) as sealed on true
      where exists (select from ${table} as part where part.check_id = checks.id and part.result_type = 'FINAL'
        and part.created >= coalesce(sealed.to_ms, 0) and part.created < ${part.to})
      limit 1`.execute(this.db);
    if (unsealed.length > 0) return true;
    const { rows: tried } = await sql`
      select from runs where state in ('queued', 'leased') and ${isUnfinished} and last_result_id is not null
        and exists (select from ${table} as part where part.id = runs.last_result_id)
      limit 1`.execute(this.db);
    return tried.length > 0;
  }

  /** Returns the ids of up to `limit` results of a partition that have artifacts. */
  async withArtifacts(part: Part, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select distinct part.id from artifacts join ${sql.table(part.name)} as part on part.id = artifacts.result_id
      limit ${limit}`.execute(this.db);
    return rows.map(({ id }) => id);
  }

  /** Returns the progress of an index build on the results, if one is in progress. */
  async buildProgress(): Promise<{ readonly phase: string; readonly percent: number } | undefined> {
    const { rows } = await sql<{ phase: string; percent: number }>`
      select phase, (100 * greatest(blocks_done::double precision / nullif(blocks_total, 0),
        tuples_done::double precision / nullif(tuples_total, 0), 0))::integer as percent
      from pg_stat_progress_create_index where relid = 'results'::regclass and datname = current_database()`.execute(
      this.db,
    );
    return rows[0];
  }
}
