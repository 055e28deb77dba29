import { dayMs } from '@picket/platform/store/days/day-ranges.ts';
import { isUnfinished } from '@picket/platform/store/days/ended-day.ts';
import { packRow, unpackRow } from '@picket/platform/store/details/packed-detail.ts';
import { batches } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { Expression, SqlBool } from 'kysely';
import { sql } from 'kysely';
import type { ResultRow, TestResultRow } from '../../results/tables.ts';
import type { RunRow } from '../../runs/tables.ts';
import type { TestSessionRow } from './tables.ts';

const snapshotsOf = storedValue<{ readonly updatesSnapshots?: boolean }>('test_definitions.definition', {});

export const testSessionStatuses = ['RUNNING', 'PASSED', 'FAILED', 'CANCELLED'] as const;
export type TestSessionStatus = (typeof testSessionStatuses)[number];

export interface TestSessionFilter {
  readonly accountId: string;
  /** Epoch milliseconds, inclusive. */
  readonly from?: number | undefined;
  /** Epoch milliseconds, exclusive. */
  readonly to?: number | undefined;
  readonly statuses?: readonly TestSessionStatus[] | undefined;
  readonly branches?: readonly string[] | undefined;
  readonly users?: readonly string[] | undefined;
  readonly providers?: readonly string[] | undefined;
  readonly textSearch?: string | undefined;
  readonly errorGroupId?: string | undefined;
  /** Only sessions after this one in the list. */
  readonly after?: { readonly started: number; readonly id: string } | undefined;
}

const live = sql`exists (select 1 from runs
  where runs.test_session_id = test_sessions.id and runs.state in ('queued', 'leased') and ${isUnfinished})`;
const cancelled = sql`exists (select 1 from runs
  where runs.test_session_id = test_sessions.id and runs.state = 'cancelled'
    and (runs.ended_day < 0 or runs.ended_day >= test_sessions.started - ${sql.lit(dayMs)}))`;

/**
 * Status of a session, from its runs. Whether it failed is stored with it: its runs and results may be deleted earlier,
 * and a verdict never changes.
 */
const status = sql<TestSessionStatus>`case when ${live} then 'RUNNING'
  when test_sessions.cancelled is not null or ${cancelled} then 'CANCELLED'
  when test_sessions.failed = 1 then 'FAILED' else 'PASSED' end`;

/** Type and verdict of a result. */
export type ResultVerdict = Pick<TestResultRow, 'run_id' | 'result_type' | 'has_errors' | 'has_failures'>;

export type TestSession = TestSessionRow & { readonly status: TestSessionStatus };

/** A test session with its runs and their results, without details. */
export interface TestSessionState {
  readonly session: TestSession;
  readonly runs: readonly RunRow[];
  readonly results: readonly Pick<TestResultRow, (typeof followedColumns)[number]>[];
  /** Names of the checks or definitions, by id. */
  readonly names: ReadonlyMap<string, RunName>;
}

interface RunName {
  readonly name: string;
  readonly sourceFile: string | null;
  /** Whether it recreates its reference pictures. */
  readonly updatesSnapshots: boolean;
}

const followedColumns = [
  'id',
  'run_id',
  'check_id',
  'test_session_id',
  'result_type',
  'has_failures',
  'has_errors',
  'is_degraded',
  'message',
  'response_time',
  'run_location',
  'started',
  'stopped',
  'attempts',
] as const;

/**
 * Test sessions and the results of their runs, which are excluded from everything that counts the results of checks.
 */
export class TestSessions extends Repository {
  async insert(row: TestSessionRow): Promise<void> {
    await this.db.insertInto('test_sessions').values(row).execute();
  }

  async find(accountId: string, id: string): Promise<TestSession | undefined> {
    return this.db
      .selectFrom('test_sessions')
      .selectAll()
      .select(status.as('status'))
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
  }

  /** Sessions by the ids that runs refer to. */
  async findMany(ids: readonly (string | null)[]): Promise<Map<string, TestSessionRow>> {
    const wanted = [...new Set(ids)].filter((id) => id !== null);
    if (wanted.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('test_sessions')
      .selectAll()
      .where(this.dialect.inList('id', wanted))
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Sessions, newest first. */
  async list(filter: TestSessionFilter, limit: number): Promise<TestSession[]> {
    const { after, textSearch, errorGroupId } = filter;
    const conditions: Expression<SqlBool>[] = [sql<SqlBool>`account_id = ${filter.accountId}`];
    if (filter.from !== undefined) conditions.push(sql<SqlBool>`started >= ${filter.from}`);
    if (filter.to !== undefined) conditions.push(sql<SqlBool>`started < ${filter.to}`);
    if (filter.branches) conditions.push(this.dialect.inList('branch', filter.branches));
    if (filter.users) conditions.push(this.dialect.inList('author', filter.users));
    if (filter.providers) conditions.push(this.dialect.inList('provider', filter.providers));
    if (textSearch !== undefined) {
      const pattern = `%${textSearch.toLowerCase().replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
      conditions.push(sql<SqlBool>`name_search like ${pattern} escape '\\'`);
    }
    if (errorGroupId !== undefined) {
      const pattern = `%"${errorGroupId}"%`;
      conditions.push(sql<SqlBool>`exists (select 1 from test_results
        where test_results.test_session_id = test_sessions.id
          and cast(test_results.error_group_ids as text) like ${pattern})`);
    }
    if (after) {
      conditions.push(
        sql<SqlBool>`(started < ${after.started} or (started = ${after.started} and id < ${after.id}))`,
      );
    }
    const wanted = filter.statuses;
    if (wanted) conditions.push(sql<SqlBool>`${status} in (${sql.join(wanted.map((one) => sql.lit(one)))})`);
    return this.db
      .selectFrom('test_sessions')
      .selectAll()
      .select(status.as('status'))
      .where((eb) => eb.and(conditions))
      .orderBy('started', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute();
  }

  async recordCancelled(id: string, now: number): Promise<void> {
    await this.db
      .updateTable('test_sessions')
      .set({ cancelled: now })
      .where('id', '=', id)
      .where('cancelled', 'is', null)
      .execute();
  }

  async runs(id: string): Promise<RunRow[]> {
    return this.db
      .selectFrom('runs')
      .selectAll()
      .where('test_session_id', '=', id)
      .orderBy('check_run_id')
      .execute();
  }

  async insertResults(rows: readonly TestResultRow[]): Promise<void> {
    for (const batch of batches(rows.map(packRow))) {
      await this.db.insertInto('test_results').values(batch).execute();
    }
    await this.recordFailed(rows.filter(hasFailed).map((row) => row.test_session_id));
  }

  /** Records that the given sessions failed. */
  async recordFailed(ids: readonly string[]): Promise<void> {
    // One by one in a fixed order, so that two transactions never deadlock.
    for (const id of [...new Set(ids)].sort()) {
      await this.db
        .updateTable('test_sessions')
        .set({ failed: 1 })
        .where('id', '=', id)
        .where('failed', '=', 0)
        .execute();
    }
  }

  /** Turns attempts into the final results of their runs. */
  async promoteResults(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const promoted = await this.db
      .updateTable('test_results')
      .set({ result_type: 'FINAL' })
      .where(this.dialect.inList('id', ids))
      .returning(['test_session_id', 'result_type', 'has_failures', 'has_errors'])
      .execute();
    await this.recordFailed(promoted.filter(hasFailed).map((row) => row.test_session_id));
  }

  /** The given result ids that are already stored. */
  async existingResults(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const rows = await this.db
      .selectFrom('test_results')
      .select('id')
      .where(this.dialect.inList('id', ids))
      .execute();
    return rows.map((row) => row.id);
  }

  /** A result of a check, from any session. */
  async findResult(checkId: string, id: string): Promise<ResultRow | undefined> {
    const row = await this.db
      .selectFrom('test_results')
      .selectAll()
      .where('id', '=', id)
      .where('check_id', '=', checkId)
      .executeTakeFirst();
    return row && unpackRow<TestResultRow>(row);
  }

  /** A result of a session, by its own id or as the final one of a run. */
  async resultOfSession(id: string, resultId: string): Promise<ResultRow | undefined> {
    const row = await this.db
      .selectFrom('test_results')
      .selectAll()
      .where('test_session_id', '=', id)
      .where((eb) =>
        eb.or([
          eb('id', '=', resultId),
          eb.and([eb('run_id', '=', resultId), eb('result_type', '=', 'FINAL')]),
        ]),
      )
      .executeTakeFirst();
    return row && unpackRow<TestResultRow>(row);
  }

  /** Verdicts of the results of a session, without details. */
  async verdicts(id: string): Promise<ResultVerdict[]> {
    return this.db
      .selectFrom('test_results')
      .select(['run_id', 'result_type', 'has_errors', 'has_failures'])
      .where('test_session_id', '=', id)
      .execute();
  }

  /** Sessions that clients follow by the given suite ids. */
  async ofSuites(suiteIds: readonly string[]): Promise<TestSessionState[]> {
    if (suiteIds.length === 0) return [];
    const sessions = await this.db
      .selectFrom('test_sessions')
      .selectAll()
      .select(status.as('status'))
      .where(this.dialect.inList('suite_id', suiteIds))
      .execute();
    const ids = sessions.map(({ id }) => id);
    if (ids.length === 0) return [];
    const ofSessions = this.dialect.inList('test_session_id', ids);
    const runs = await this.db
      .selectFrom('runs')
      .selectAll()
      .where(ofSessions)
      .orderBy('check_run_id')
      .execute();
    const results = await this.db
      .selectFrom('test_results')
      .select(followedColumns)
      .where(ofSessions)
      .orderBy('created')
      .orderBy('attempts')
      .orderBy('id')
      .execute();
    const names = await this.#namesOf(runs.map((run) => run.check_id));
    const runsOf = Map.groupBy(runs, (run) => run.test_session_id);
    const resultsOf = Map.groupBy(results, (result) => result.test_session_id);
    return sessions.map((session) => ({
      session,
      runs: runsOf.get(session.id) ?? [],
      results: resultsOf.get(session.id) ?? [],
      names,
    }));
  }

  async #namesOf(ids: readonly string[]): Promise<TestSessionState['names']> {
    const wanted = this.dialect.inList('id', [...new Set(ids)]);
    const checks = await this.db.selectFrom('checks').select(['id', 'name']).where(wanted).execute();
    const tried = await this.db.selectFrom('test_definitions').selectAll().where(wanted).execute();
    return new Map<string, RunName>([
      ...checks.map(({ id, name }) => [id, { name, sourceFile: null, updatesSnapshots: false }] as const),
      ...tried.map(
        ({ id, name, source_file: sourceFile, definition }) =>
          [id, { name, sourceFile, updatesSnapshots: updatesSnapshots(definition) }] as const,
      ),
    ]);
  }

  /** A result of a test session of an account. */
  async resultOfAccount(accountId: string, id: string): Promise<TestResultRow | undefined> {
    const row = await this.db
      .selectFrom('test_results')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return row && unpackRow<TestResultRow>(row);
  }

  /** Results of a session, oldest first. */
  async results(id: string): Promise<ResultRow[]> {
    const rows = await this.db
      .selectFrom('test_results')
      .selectAll()
      .where('test_session_id', '=', id)
      .orderBy('created')
      .orderBy('attempts')
      .orderBy('id')
      .execute();
    return rows.map((row) => unpackRow<TestResultRow>(row));
  }
}

function hasFailed(row: Pick<TestResultRow, 'result_type' | 'has_failures' | 'has_errors'>): boolean {
  return row.result_type === 'FINAL' && (row.has_failures === 1 || row.has_errors === 1);
}

function updatesSnapshots(definition: string): boolean {
  return snapshotsOf(definition).updatesSnapshots === true;
}
