import { findCheckType } from '@picket/checks/index.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { sql } from 'kysely';

/** A few milliseconds of work: a page of many checks takes few turns, and other requests run in between. */
const checksPerStatement = 20;

const taggedOf = storedValue<Tagged>('checks.definition', {});

/** Selects the checks of a report or page. */
export interface ReportFilter {
  readonly accountId: string;
  readonly tags: readonly string[];
  /** Whether a check needs all of the tags rather than any of them. Without tags every check matches. */
  readonly needsAllTags: boolean;
  readonly isActivated?: boolean | undefined;
}

/** A check as reports and pages show it. */
export interface ReportedCheck {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly checkType: string;
  /** Whether it runs: both the check and its group are activated. */
  readonly isActivated: boolean;
  /** Its own tags and those of its group. */
  readonly tags: readonly string[];
  readonly groupName: string | null;
}

/** Outcomes of the runs of a check in a window. Times in milliseconds; null if nothing was measured. */
export interface RunAggregate {
  /** Final runs, excluding those that ended by a fault of the monitoring itself. */
  readonly runCount: number;
  readonly passedCount: number;
  readonly averageMs: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

/** A check that opens incidents of a service. */
export interface ServiceCheck {
  readonly checkId: string;
  readonly serviceId: string;
}

export interface RecentRun {
  readonly check_id: string;
  readonly id: string;
  readonly has_failures: number;
  readonly has_errors: number;
  readonly is_degraded: number | null;
  readonly response_time: number;
  readonly run_location: string;
  readonly started: number;
  readonly measured: string | null;
}

/** Data of checks for reports, dashboards and badges, read from the results themselves. */
export class Reports extends Repository {
  /** All matching checks, by name. */
  async checks(filter: ReportFilter): Promise<ReportedCheck[]> {
    let query = this.#select().where('checks.account_id', '=', filter.accountId);
    const groups = filter.needsAllTags ? filter.tags.map((tag) => [tag]) : [filter.tags];
    for (const tags of groups.filter((group) => group.length > 0)) {
      query = query.where((eb) =>
        eb.or([
          eb(
            'checks.id',
            'in',
            eb.selectFrom('check_tags').select('check_id').where(this.dialect.inList('tag', tags)),
          ),
          eb(
            'checks.group_id',
            'in',
            eb.selectFrom('check_group_tags').select('group_id').where(this.dialect.inList('tag', tags)),
          ),
        ]),
      );
    }
    const rows = await query.orderBy('checks.name_search').orderBy('checks.id').execute();
    const checks = rows.map(reportedCheck);
    const { isActivated } = filter;
    return isActivated === undefined ? checks : checks.filter((check) => check.isActivated === isActivated);
  }

  /** A check of any account. */
  async check(id: string): Promise<ReportedCheck | undefined> {
    const row = await this.#select().where('checks.id', '=', id).executeTakeFirst();
    return row && reportedCheck(row);
  }

  /** Checks of a group. */
  async checksOfGroup(accountId: string, groupId: number): Promise<ReportedCheck[]> {
    const rows = await this.#select()
      .where('checks.account_id', '=', accountId)
      .where('checks.group_id', '=', groupId)
      .execute();
    return rows.map(reportedCheck);
  }

  /** Activated checks that open incidents of the given services of an account, by service. */
  async checksOfServices(accountId: string, serviceIds: readonly string[]): Promise<ServiceCheck[]> {
    const stored = sql.ref('checks.definition');
    // On SQLite a single malformed row would fail the whole query; PostgreSQL does not store malformed JSON.
    const isSqlite = this.dialect.name === 'sqlite';
    const definition = isSqlite ? sql`case when json_valid(${stored}) then ${stored} end` : stored;
    const serviceId = sql<string>`lower((${definition}) -> 'triggerIncident' ->> 'serviceId')`;
    const rows = await this.db
      .selectFrom('checks')
      .select(['checks.id', 'checks.check_type', serviceId.as('service_id')])
      .where('checks.account_id', '=', accountId)
      .where((eb) => eb(serviceId, 'in', serviceIds))
      .execute();
    return rows
      .filter((row) => !findCheckType(row.check_type)?.pings)
      .map((row) => ({ checkId: row.id, serviceId: row.service_id }));
  }

  #select() {
    return this.db
      .selectFrom('checks')
      .leftJoin('check_groups', (join) =>
        join
          .onRef('check_groups.id', '=', 'checks.group_id')
          .onRef('check_groups.account_id', '=', 'checks.account_id'),
      )
      .select([
        'checks.id',
        'checks.account_id',
        'checks.name',
        'checks.check_type',
        'checks.activated',
        'checks.definition',
        'check_groups.name as group_name',
        'check_groups.definition as group_definition',
      ]);
  }

  /** Newest final runs of checks since an instant, newest first, at most `limit` of each. */
  async recentRuns(checkIds: readonly string[], since: number, limit: number): Promise<RecentRun[]> {
    const all: RecentRun[] = [];
    for (let start = 0; start < checkIds.length; start += checksPerStatement) {
      const some = checkIds.slice(start, start + checksPerStatement);
      const rows = await this.dialect.forEach<RecentRun>(this.db, some, (checkId) =>
        this.db
          .selectFrom('results')
          .select(['check_id', 'id', 'has_failures', 'has_errors', 'is_degraded'])
          .select(['response_time', 'run_location', 'started', 'measured'])
          .where('check_id', '=', checkId)
          .where('result_type', '=', 'FINAL')
          .where('created', '>=', since)
          .orderBy('created', 'desc')
          .orderBy('id', 'desc')
          .limit(limit),
      );
      all.push(...rows);
    }
    return all;
  }
}

interface Tagged {
  readonly tags?: readonly string[];
  readonly activated?: boolean;
}

function reportedCheck(row: {
  id: string;
  account_id: string;
  name: string;
  check_type: string;
  activated: number;
  definition: string;
  group_name: string | null;
  group_definition: string | null;
}): ReportedCheck {
  const own = taggedOf(row.definition);
  const group = row.group_definition === null ? {} : taggedOf(row.group_definition);
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    checkType: row.check_type,
    isActivated: row.activated === 1 && group.activated !== false,
    tags: [...new Set([...(own.tags ?? []), ...(group.tags ?? [])])],
    groupName: row.group_name,
  };
}
