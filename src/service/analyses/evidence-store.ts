import type { KnownFailure } from '@picket/checks/judging/failure-words.ts';
import { failureDetails } from '@picket/platform/store/details/failure-details.ts';
import { isWhole, unpackDetail } from '@picket/platform/store/details/packed-detail.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { Company, LocationEventFacts, StoredRun } from './evidence.ts';

const groupIds = storedValue<readonly string[]>('results.error_group_ids', []);
const detailOf = storedValue<object>('results.detail', {});
const messagesOf = storedValue<readonly string[]>('results.error_messages', []);

/** Tables of results: those that count, or those of test sessions. */
export type ResultTable = 'results' | 'test_results';

/** A result without its detail. */
export interface ResultMark {
  readonly id: string;
  readonly check_id: string;
  readonly run_location: string;
  readonly created: number;
  readonly started: number;
  readonly slot_at: number;
  readonly has_failures: 0 | 1;
  readonly has_errors: 0 | 1;
}

const marks = [
  ...(['id', 'check_id', 'run_location', 'created', 'started', 'slot_at'] as const),
  ...(['has_failures', 'has_errors'] as const),
] as const;
const iso = (at: number) => new Date(at).toISOString();

/** Queries on results, statuses and locations for analyses. */
export class AnalysisEvidence extends Repository {
  /** Newest results of a check with an error, stored up to an instant. */
  async withError(checkId: string, groupId: string, until: number, limit: number): Promise<ResultMark[]> {
    const rows = await this.db
      .selectFrom('results')
      .select([...marks, 'error_group_ids'])
      .where('check_id', '=', checkId)
      .where('created', '<=', until)
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .limit(50)
      .execute();
    return rows.filter((row) => row.error_group_ids.includes(`"${groupId}"`)).slice(0, limit);
  }

  /** Same, for the newest test sessions of a project; '' for sessions without a project. */
  async withErrorOfTests(
    owner: { readonly accountId: string; readonly projectId: string },
    groupId: string,
    until: number,
    limit: number,
  ): Promise<ResultMark[]> {
    const { accountId, projectId } = owner;
    const sessions = await this.db
      .selectFrom('test_sessions')
      .select('id')
      .where('account_id', '=', accountId)
      .where('project_id', projectId === '' ? 'is' : '=', projectId === '' ? null : projectId)
      .where('started', '<=', until)
      .orderBy('started', 'desc')
      .limit(20)
      .execute();
    if (sessions.length === 0) return [];
    const rows = await this.db
      .selectFrom('test_results')
      .select([...marks, 'error_group_ids'])
      .where(
        this.dialect.inList(
          'test_session_id',
          sessions.map(({ id }) => id),
        ),
      )
      .where('created', '<=', until)
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .limit(500)
      .execute();
    return rows.filter((row) => row.error_group_ids.includes(`"${groupId}"`)).slice(0, limit);
  }

  /** Error groups of a result, in order of its errors, and its failure. */
  async errorsOf(
    checkId: string,
    resultId: string,
  ): Promise<{ readonly groupIds: readonly string[]; readonly failed: KnownFailure } | undefined> {
    const row = await this.db
      .selectFrom('results')
      .select(['error_group_ids', 'owner', 'code', 'message'])
      .where('id', '=', resultId)
      .where('check_id', '=', checkId)
      .executeTakeFirst();
    return row && { groupIds: groupIds(row.error_group_ids), failed: row };
  }

  /** Final passing results of a check between two instants, newest first: all, or only those with details. */
  async passes(
    table: ResultTable,
    checkId: string,
    between: { readonly after: number; readonly before: number },
    { limit, areWhole }: { readonly limit: number; readonly areWhole: boolean },
  ): Promise<ResultMark[]> {
    return this.db
      .selectFrom(table)
      .select(marks)
      .where('check_id', '=', checkId)
      .where('result_type', '=', 'FINAL')
      .where('created', '>', between.after)
      .where('created', '<', between.before)
      .where('has_failures', '=', 0)
      .where('has_errors', '=', 0)
      .$if(areWhole, (query) => query.where(isWhole))
      .orderBy('created', 'desc')
      .limit(limit)
      .execute();
  }

  /** First result of a check at a location after an instant that did not pass. */
  async firstFailure(
    table: ResultTable,
    checkId: string,
    location: string,
    after: number,
  ): Promise<ResultMark | undefined> {
    return this.db
      .selectFrom(table)
      .select(marks)
      .where('check_id', '=', checkId)
      .where('run_location', '=', location)
      .where('created', '>', after)
      .where((eb) => eb.or([eb('has_failures', '=', 1), eb('has_errors', '=', 1)]))
      .orderBy('created')
      .limit(1)
      .executeTakeFirst();
  }

  /** Results of a check since an instant, newest first. */
  async since(checkId: string, from: number, limit: number): Promise<ResultMark[]> {
    return this.db
      .selectFrom('results')
      .select(marks)
      .where('check_id', '=', checkId)
      .where('created', '>=', from)
      .orderBy('created', 'desc')
      .limit(limit)
      .execute();
  }

  /** Results with their details, in the order of the given ids. */
  async runs(table: ResultTable, ids: readonly string[]): Promise<StoredRun[]> {
    if (ids.length === 0) return [];
    const rows = await this.db
      .selectFrom(table)
      .select([
        'id',
        'check_type',
        'started',
        'run_location',
        'owner',
        'code',
        'message',
        'failure_details',
        'error_messages',
        'response_time',
        'detail',
        'packed_detail',
      ])
      .where(this.dialect.inList('id', ids))
      .execute();
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.flatMap((id) => {
      const row = byId.get(id);
      if (!row) return [];
      const { detail } = unpackDetail(row);
      return [
        {
          id,
          type: row.check_type,
          startedAt: iso(row.started),
          location: row.run_location,
          owner: row.owner,
          code: row.code,
          message: row.message,
          details: failureDetails(row),
          errorMessages: messagesOf(row.error_messages),
          responseTime: row.response_time,
          detail: detail === null ? null : detailOf(detail),
        },
      ];
    });
  }

  /** Number of other checks that share a value with a check, and how many of them currently do not pass. */
  async company(
    of: { readonly accountId: string; readonly checkId: string },
    { kind, value }: Pick<Company, 'kind' | 'value'>,
    heardSince: number,
  ): Promise<Company> {
    const column = (
      { host: 'target_host', address: 'target_address', location: 'last_run_location' } as const
    )[kind];
    const others = this.db
      .selectFrom('statuses')
      .innerJoin('checks', 'checks.id', 'statuses.check_id')
      .where('statuses.account_id', '=', of.accountId)
      .where('statuses.check_id', '!=', of.checkId)
      .where('checks.activated', '=', 1)
      .where(`statuses.${column}`, '=', value)
      .where((eb) =>
        eb.or([eb('statuses.updated', '>=', heardSince), eb('statuses.created', '>=', heardSince)]),
      );
    const failing = others.where((eb) =>
      eb.or([eb('statuses.has_failures', '=', 1), eb('statuses.has_errors', '=', 1)]),
    );
    const all = await others.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirst();
    const bad = await failing
      .select((eb) => [
        eb.fn.countAll<number>().as('count'),
        eb.fn
          .count<number>(
            eb.fn.coalesce('statuses.target_host', 'statuses.target_address', 'statuses.check_id'),
          )
          .distinct()
          .as('hosts'),
      ])
      .executeTakeFirst();
    const names = await failing
      .select('checks.name')
      .orderBy('checks.name')
      .orderBy('checks.id')
      .limit(3)
      .execute();
    return {
      kind,
      value,
      checks: Number(all?.count ?? 0),
      failing: Number(bad?.count ?? 0),
      failingHosts: Number(bad?.hosts ?? 0),
      names: names.map(({ name }) => name),
    };
  }

  /** Events that agents reported for a private location and that overlap a period. */
  async locationEvents(
    accountId: string,
    location: string,
    time: { readonly from: number; readonly to: number },
  ): Promise<LocationEventFacts[]> {
    const rows = await this.db
      .selectFrom('location_events')
      .innerJoin('private_locations', 'private_locations.id', 'location_events.location_id')
      .select([
        'location_events.kind',
        'location_events.evidence',
        'location_events.started',
        'location_events.ended',
      ])
      .where('private_locations.account_id', '=', accountId)
      .where('private_locations.slug_name', '=', location)
      .where('location_events.started', '<=', time.to)
      .where((eb) =>
        eb.or([
          eb('location_events.ended', '>=', time.from),
          eb.and([eb('location_events.ended', 'is', null), eb('location_events.told', '>=', time.from)]),
        ]),
      )
      .orderBy('location_events.started', 'desc')
      .limit(3)
      .execute();
    return rows.map(({ kind, evidence, started, ended }) => ({
      kind,
      evidence,
      startedAt: iso(started),
      endedAt: ended === null ? null : iso(ended),
    }));
  }
}
