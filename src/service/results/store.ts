import type { PackedRow } from '@picket/platform/store/details/packed-detail.ts';
import { isWhole, packRow, unpackRow } from '@picket/platform/store/details/packed-detail.ts';
import type { Change, ColumnTypes } from '@picket/platform/store/engine/dialect.ts';
import { batches, isBehind, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { Cursor } from '@picket/protocol/http/cursor.ts';
import { sql } from 'kysely';
import type { CountedResultRow, ResultRow, StaleResultRow } from './tables.ts';

const countedFailures = 5_000;
const groupIdsOf = storedValue<readonly string[]>('results.error_group_ids', []);

export interface ResultFilter {
  readonly checkId: string;
  /** Epoch milliseconds, inclusive. */
  readonly from: number;
  /** Epoch milliseconds, exclusive. */
  readonly to: number;
  readonly location?: string | undefined;
  readonly checkType?: string | undefined;
  readonly hasFailures?: boolean | undefined;
  readonly resultType: 'FINAL' | 'ATTEMPT' | 'ALL';
}

/** Results of runs, and evidence of late results. */
export class Results extends Repository {
  async insert(rows: readonly CountedResultRow[]): Promise<void> {
    for (const change of this.inserting(rows)) await change.execute();
  }

  /** Statements that store results. */
  inserting(rows: readonly CountedResultRow[]): Change[] {
    const insertion = { db: this.db, table: 'results', types: resultColumnTypes } as const;
    return this.dialect.inserting({ ...insertion, rows: rows.map(packRow) });
  }

  /** Stores late results; existing ones are left unchanged. */
  async insertStale(rows: readonly StaleResultRow[]): Promise<void> {
    for (const batch of batches(rows)) {
      await this.db
        .insertInto('stale_results')
        .values(batch)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
    }
  }

  /** The given result ids that are already stored. */
  async existing(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.db
      .selectFrom('results')
      .select('id')
      .where(this.dialect.inList('id', ids))
      .execute();
    return new Set(rows.map((row) => row.id));
  }

  async staleOf(runId: string): Promise<StaleResultRow[]> {
    return this.db.selectFrom('stale_results').selectAll().where('run_id', '=', runId).execute();
  }

  /** Turns attempts into the final results of their runs; returns them. */
  async promote(ids: readonly string[]): Promise<CountedResultRow[]> {
    if (ids.length === 0) return [];
    const rows = await this.db
      .updateTable('results')
      .set({ result_type: 'FINAL' })
      .where(this.dialect.inList('id', ids))
      .returningAll()
      .execute();
    return rows.map((row) => unpackRow<CountedResultRow>(row));
  }

  async find(checkId: string, id: string): Promise<CountedResultRow | undefined> {
    const row = await this.db
      .selectFrom('results')
      .selectAll()
      .where('id', '=', id)
      .where('check_id', '=', checkId)
      .executeTakeFirst();
    return row && unpackRow<CountedResultRow>(row);
  }

  /** Last pass at a location between two instants whose detail was kept. */
  async lastWholePass(
    checkId: string,
    location: string,
    between: { readonly from: number; readonly to: number },
  ): Promise<CountedResultRow | undefined> {
    const row = await this.#filtered({
      ...between,
      checkId,
      location,
      hasFailures: false,
      resultType: 'FINAL',
    })
      .where('has_errors', '=', 0)
      .where(isWhole)
      .limit(1)
      .executeTakeFirst();
    return row && unpackRow<CountedResultRow>(row);
  }

  async list(
    filter: ResultFilter,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ total: number; results: ResultRow[] }> {
    const { total, rows } = await readPage(this.#filtered(filter), page);
    return { total, results: rows.map((row) => unpackRow<CountedResultRow>(row)) };
  }

  /** Number of runs in a period that ended by each error, by group; covers the newest 5,000 failed runs. */
  async runsByErrorGroup(
    checkId: string,
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<Map<string, number>> {
    const rows = await this.db
      .selectFrom('results')
      .select('error_group_ids')
      .where('check_id', '=', checkId)
      .where('created', '>=', from)
      .where('created', '<', to)
      .where('result_type', '=', 'FINAL')
      .where((eb) => eb.or([eb('has_failures', '=', 1), eb('has_errors', '=', 1)]))
      .orderBy('created', 'desc')
      .limit(countedFailures)
      .execute();
    const counts = new Map<string, number>();
    for (const row of rows) {
      for (const id of groupIdsOf(row.error_group_ids)) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }

  /** Results after a cursor, newest first. */
  async behind(filter: ResultFilter, cursor: Cursor | undefined, limit: number): Promise<ResultRow[]> {
    const query = this.#filtered(filter);
    const rows = await (cursor ? query.where(isBehind(cursor)) : query).limit(limit).execute();
    return rows.map((row) => unpackRow<CountedResultRow>(row));
  }

  #filtered(filter: ResultFilter) {
    let query = this.db
      .selectFrom('results')
      .where('check_id', '=', filter.checkId)
      .where('created', '>=', filter.from)
      .where('created', '<', filter.to);
    if (filter.location !== undefined) query = query.where('run_location', '=', filter.location);
    if (filter.checkType !== undefined) query = query.where('check_type', '=', filter.checkType);
    if (filter.hasFailures !== undefined)
      query = query.where('has_failures', '=', filter.hasFailures ? 1 : 0);
    if (filter.resultType !== 'ALL') query = query.where('result_type', '=', filter.resultType);
    return query.selectAll().orderBy('created', 'desc').orderBy('id', 'desc');
  }

  /** Schedules the results of a deleted check for deletion. */
  async purgeLater(checkId: string, now: number): Promise<void> {
    await this.db
      .insertInto('purges')
      .values({ check_id: checkId, created: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /**
   * The deleted check whose results are deleted next. Reads first, so that idle sweepers open no write transactions.
   */
  async nextPurge(): Promise<string | undefined> {
    const purge = await this.db
      .selectFrom('purges')
      .select('check_id')
      .orderBy('created')
      .limit(1)
      .executeTakeFirst();
    return purge?.check_id;
  }

  /**
   * Deletes up to `limit` results of a deleted check, and as many fenced ones and heartbeat events, its chunks and the
   * rows of its artifacts, within a transaction. Results of test sessions stay with their session, whose outcome they
   * are. Does nothing while another process is working on it.
   */
  async purgeSome(checkId: string, limit: number): Promise<void> {
    const purge = await this.db
      .selectFrom('purges')
      .selectAll()
      .where('check_id', '=', checkId)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .executeTakeFirst();
    if (!purge) return;
    for (const table of [
      'artifacts',
      'result_columns',
      'result_chunks',
      'slot_days',
      'slot_seals',
      'check_totals',
      'detail_counts',
    ] as const) {
      await this.db.deleteFrom(table).where('check_id', '=', purge.check_id).execute();
    }
    const removed = [];
    // Includes the timestamp, so that each is searched only in its day.
    const { numAffectedRows: removedResults } = await sql`delete from results where (id, created) in
      (select id, created from results where check_id = ${purge.check_id} limit ${limit})`.execute(this.db);
    removed.push(Number(removedResults));
    for (const table of ['stale_results', 'heartbeat_events'] as const) {
      const some = this.db.selectFrom(table).select('id').where('check_id', '=', purge.check_id).limit(limit);
      const done = await this.db.deleteFrom(table).where('id', 'in', some).executeTakeFirst();
      removed.push(Number(done.numDeletedRows));
    }
    if (removed.every((count) => count < limit)) {
      await this.db.deleteFrom('purges').where('check_id', '=', purge.check_id).execute();
    }
  }
}

/** Columns of the table and their PostgreSQL types, for inserts of many rows at a time. */
export const resultColumnTypes: ColumnTypes<PackedRow<CountedResultRow>> = {
  id: 'text',
  run_id: 'text',
  account_id: 'text',
  check_id: 'text',
  check_type: 'text',
  run_location: 'text',
  result_type: 'text',
  has_failures: 'integer',
  has_errors: 'integer',
  is_degraded: 'integer',
  over_max: 'integer',
  owner: 'text',
  code: 'text',
  message: 'text',
  failure_details: 'json',
  response_time: 'double precision',
  started: 'bigint',
  host_started: 'bigint',
  stopped: 'bigint',
  created: 'bigint',
  attempts: 'integer',
  sequence_id: 'text',
  check_run_id: 'bigint',
  slot_at: 'bigint',
  start_delay: 'double precision',
  agent_lag: 'double precision',
  agent_overhead: 'double precision',
  timing_doubtful: 'integer',
  certificate_expires: 'bigint',
  agent_id: 'text',
  error_messages: 'json',
  error_group_ids: 'json',
  detail: 'json',
  packed_detail: 'bytea',
  measured: 'json text',
};
