import { dayMs } from '@picket/platform/store/days/day-ranges.ts';
import { isSince } from '@picket/platform/store/days/ended-day.ts';
import { finalResultsOf } from '@picket/platform/store/days/final-results.ts';
import { onDemandRuns } from '@picket/platform/store/days/on-demand-runs.ts';
import { escapeLike } from '@picket/platform/store/engine/dialect.ts';
import type { Page } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely';
import { stateAt, stateOf } from '../checks/state/check-state.ts';
import { CheckStates } from '../checks/state/states.ts';
import type { RunRow } from '../runs/tables.ts';
import type {
  MatchingCheck,
  OverviewChoices,
  OverviewFilter,
  OverviewOrder,
  OverviewRow,
  RecentSlot,
} from './overview.ts';
import { type OverviewState, overviewStates, shownStates } from './states.ts';

const newestRunColumns = [
  ...(['id', 'check_id', 'slot_at', 'slot_location', 'slot_count'] as const),
  ...(['state', 'reason', 'ended', 'last_result_id'] as const),
] as const;
type NewestRun = Pick<RunRow, (typeof newestRunColumns)[number]> & { readonly isOnDemand?: true };

/** Queries of the overview, few statements however many checks there are. */
export class Overviews extends Repository {
  /** Number of checks of an account in each state. */
  async counts(
    accountId: string,
    now: number,
    filter: OverviewFilter = {},
  ): Promise<Map<OverviewState, number>> {
    const rank = await this.#rank(accountId, now);
    const rows = await this.#of(accountId, filter, rank)
      .select(rank.as('rank'))
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .groupBy('rank')
      .execute();
    return stateCounts(rows);
  }

  /** Whether an account has a check without the given tag. */
  async hasCheckWithout(accountId: string, tag: string): Promise<boolean> {
    const found = await this.db
      .selectFrom('checks')
      .select('id')
      .where('account_id', '=', accountId)
      .where((eb) => eb.not(listed(eb, 'check_tags', 'tag', tag)))
      .limit(1)
      .executeTakeFirst();
    return found !== undefined;
  }

  /** Number of matching checks. */
  async total(accountId: string, filter: OverviewFilter, now: number): Promise<number> {
    const { total } = await this.#of(accountId, filter, await this.#rank(accountId, now))
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    return Number(total);
  }

  /** All matching checks, by name; optionally by group before that. */
  async matching(
    accountId: string,
    filter: OverviewFilter,
    { now, isByGroup = false }: { readonly now: number; readonly isByGroup?: boolean },
  ): Promise<MatchingCheck[]> {
    return this.#grouped(accountId, filter, await this.#rank(accountId, now), isByGroup)
      .select(['checks.id', 'checks.name', 'checks.check_type as checkType', 'checks.group_id as groupId'])
      .orderBy('checks.name_search')
      .orderBy('checks.id')
      .execute();
  }

  /** Number of matching checks in each state, by group; null: without a group. */
  async groupCounts(
    accountId: string,
    filter: OverviewFilter,
    now: number,
  ): Promise<Map<number | null, Map<OverviewState, number>>> {
    const rank = await this.#rank(accountId, now);
    const rows = await this.#of(accountId, filter, rank)
      .select('checks.group_id')
      .select(rank.as('rank'))
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .groupBy(['checks.group_id', 'rank'])
      .execute();
    const groups = Map.groupBy(rows, ({ group_id: id }) => id);
    return new Map([...groups].map(([id, own]) => [id, stateCounts(own)]));
  }

  /** A page of the matching checks, by default worst first, then by name; optionally by group before that. */
  async list(
    accountId: string,
    filter: OverviewFilter,
    {
      page,
      now,
      isByGroup = false,
      order: { by, isDescending } = { by: 'state', isDescending: false },
    }: {
      readonly page: Page;
      readonly now: number;
      readonly isByGroup?: boolean;
      readonly order?: OverviewOrder;
    },
  ): Promise<OverviewRow[]> {
    const rank = await this.#rank(accountId, now);
    const direction = isDescending ? 'desc' : 'asc';
    const rows = await this.#grouped(accountId, filter, rank, isByGroup)
      .select([
        'checks.id',
        'checks.name',
        'checks.check_type',
        'checks.muted',
        'checks.group_id',
        'statuses.last_slot_at',
      ])
      .select(rank.as('rank'))
      .$if(by === 'state', (query) => query.orderBy('rank', direction))
      // Databases disagree on where null sorts.
      .$if(by === 'run', (query) => query.orderBy(sql`coalesce(statuses.last_slot_at, 0)`, direction))
      .orderBy('checks.name_search', by === 'name' ? direction : 'asc')
      .orderBy('checks.id')
      .limit(page.limit)
      .offset(page.offset)
      .execute();
    const ids = rows.map(({ id }) => id);
    const [tags, locations] = [await this.#tags(ids), await this.#locations(ids)];
    const alertStates = await this.#alertStates(ids);
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      checkType: row.check_type,
      state: shownStates[stateAt(row.rank)],
      isMuted: row.muted === 1,
      groupId: row.group_id,
      tags: tags.get(row.id) ?? [],
      locations: locations.get(row.id) ?? [],
      alertState: alertStates.get(row.id) ?? null,
      lastSlotAt: row.last_slot_at,
    }));
  }

  /** Newest slots of the given checks, including on-demand runs, newest first. */
  async recentSlots(
    checkIds: readonly string[],
    perCheck: number,
    now: number,
  ): Promise<Map<string, RecentSlot[]>> {
    const newest = await this.#newestRuns(checkIds, perCheck, isSince(now - dayMs));
    const counts = Map.groupBy(newest, (run) => run.check_id);
    // Checks that run seldom, and new ones, are searched in all days.
    const seldom = new Set(checkIds.filter((id) => (counts.get(id)?.length ?? 0) < perCheck));
    const scheduled = [
      ...newest.filter((run) => !seldom.has(run.check_id)),
      ...(await this.#newestRuns([...seldom], perCheck)),
    ];
    const asked = (await onDemandRuns(this.db, this.dialect, checkIds, now - dayMs)).map((run) => ({
      ...run,
      isOnDemand: true as const,
    }));
    const byCheck = Map.groupBy<string, NewestRun>([...scheduled, ...asked], (run) => run.check_id);
    const runs = [...byCheck.values()].flatMap((list) =>
      list.sort((left, right) => right.slot_at - left.slot_at).slice(0, perCheck),
    );
    return Map.groupBy(await this.#withResults(runs), (slot) => slot.check_id);
  }

  /** On-demand runs of a check in a span, newest first. */
  async onDemandIn(checkId: string, { from, to }: { from: number; to: number }): Promise<RecentSlot[]> {
    const runs = await onDemandRuns(this.db, this.dialect, [checkId], from - dayMs);
    const within = runs.filter((run) => run.slot_at >= from && run.slot_at < to);
    return this.#withResults(within.map((run) => ({ ...run, isOnDemand: true })));
  }

  async #withResults(runs: readonly NewestRun[]): Promise<RecentSlot[]> {
    const results = await finalResultsOf(this.db, this.dialect, runs, [
      ...(['id', 'has_failures', 'has_errors', 'is_degraded'] as const),
      ...(['response_time', 'owner', 'code', 'message'] as const),
    ]);
    return runs.map(({ ended: _ended, last_result_id: _attempt, isOnDemand = false, ...run }): RecentSlot => {
      const result = results.get(run.id);
      return {
        ...run,
        isOnDemand,
        result_id: result?.id ?? null,
        has_failures: result?.has_failures ?? null,
        has_errors: result?.has_errors ?? null,
        is_degraded: result?.is_degraded ?? null,
        response_time: result?.response_time ?? null,
        owner: result?.owner ?? null,
        code: result?.code ?? null,
        message: result?.message ?? null,
      };
    });
  }

  async choices(accountId: string): Promise<OverviewChoices> {
    const own = this.db.selectFrom('checks').select('id').where('account_id', '=', accountId);
    const [tags, locations, types, groups] = [
      await this.db
        .selectFrom('check_tags')
        .select('tag')
        .distinct()
        .where('check_id', 'in', own)
        .orderBy('tag')
        .limit(200)
        .execute(),
      await this.db
        .selectFrom('check_locations')
        .select('name')
        .distinct()
        .where('check_id', 'in', own)
        .orderBy('name')
        .limit(200)
        .execute(),
      await this.db
        .selectFrom('checks')
        .select('check_type')
        .distinct()
        .where('account_id', '=', accountId)
        .execute(),
      await this.db
        .selectFrom('check_groups')
        .select(['id', 'name'])
        .where('account_id', '=', accountId)
        .orderBy('name_search')
        .limit(200)
        .execute(),
    ];
    return {
      tags: tags.map(({ tag }) => tag),
      locations: locations.map(({ name }) => name),
      types: types.map(({ check_type: type }) => type),
      groups,
    };
  }

  /** Number of active checks at each of the given locations; omits locations without one. */
  async activeAt(accountId: string, locations: readonly string[]): Promise<Map<string, number>> {
    if (locations.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('check_locations')
      .innerJoin('checks', 'checks.id', 'check_locations.check_id')
      .where('checks.account_id', '=', accountId)
      .where('checks.activated', '=', 1)
      .where(this.dialect.inList('check_locations.name', locations))
      .select('check_locations.name')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .groupBy('check_locations.name')
      .execute();
    return new Map(rows.map(({ name, count }) => [name, Number(count)]));
  }

  async #rank(accountId: string, now: number): Promise<RawBuilder<number>> {
    const paused = await new CheckStates(this.db, this.dialect).paused([accountId], now);
    return stateOf(now, paused);
  }

  #of(accountId: string, filter: OverviewFilter, rank: RawBuilder<number>) {
    const { checkId, checkIds, search, state, checkType, tag, withoutTag, groupId, location } = filter;
    let query = this.db
      .selectFrom('checks')
      .leftJoin('statuses', 'statuses.check_id', 'checks.id')
      .where('checks.account_id', '=', accountId);
    if (checkId !== undefined) query = query.where('checks.id', '=', checkId);
    if (checkIds !== undefined) query = query.where(this.dialect.inList('checks.id', checkIds));
    if (search !== undefined) {
      const pattern = `%${escapeLike(search.toLowerCase())}%`;
      query = query.where(
        sql<boolean>`(checks.name_search like ${pattern} escape '\\' or checks.url_search like ${pattern} escape '\\')`,
      );
    }
    if (checkType !== undefined) query = query.where('checks.check_type', '=', checkType);
    if (groupId !== undefined) query = query.where('checks.group_id', '=', groupId);
    if (tag !== undefined) query = query.where((eb) => listed(eb, 'check_tags', 'tag', tag));
    if (withoutTag !== undefined) {
      query = query.where((eb) => eb.not(listed(eb, 'check_tags', 'tag', withoutTag)));
    }
    if (location !== undefined) query = query.where((eb) => listed(eb, 'check_locations', 'name', location));
    return state === undefined ? query : query.where(rank, '=', overviewStates.indexOf(state));
  }

  /** The same, optionally by group: by its name, and without a group last. */
  #grouped(accountId: string, filter: OverviewFilter, rank: RawBuilder<number>, isByGroup: boolean) {
    return this.#of(accountId, filter, rank).$if(isByGroup, (query) =>
      query
        .leftJoin('check_groups', 'check_groups.id', 'checks.group_id')
        .orderBy(sql`case when checks.group_id is null then 1 else 0 end`)
        .orderBy('check_groups.name_search')
        .orderBy('checks.group_id'),
    );
  }

  #newestRuns(
    checkIds: readonly string[],
    limit: number,
    when: RawBuilder<boolean> = sql`true`,
  ): Promise<NewestRun[]> {
    return this.dialect.forEach(this.db, [...new Set(checkIds)], (checkId) =>
      this.db
        .selectFrom('runs')
        .where('runs.check_id', '=', checkId)
        .where(when)
        .where('runs.check_session_id', 'is', null)
        .where('runs.test_session_id', 'is', null)
        .select(newestRunColumns)
        .orderBy('runs.slot_at', 'desc')
        .orderBy('runs.id', 'desc')
        .limit(limit),
    );
  }

  async #tags(ids: readonly string[]): Promise<Map<string, string[]>> {
    const rows = await this.db
      .selectFrom('check_tags')
      .selectAll()
      .where(this.dialect.inList('check_id', ids))
      .orderBy('tag')
      .execute();
    return listsOf(rows.map(({ check_id: id, tag }) => [id, tag]));
  }

  /** Joining this above would look it up for every check, not only for those shown. */
  async #alertStates(ids: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.db
      .selectFrom('alert_states')
      .select(['check_id', 'state'])
      .where(this.dialect.inList('check_id', ids))
      .execute();
    return new Map(rows.map(({ check_id: id, state }) => [id, state]));
  }

  async #locations(ids: readonly string[]): Promise<Map<string, string[]>> {
    const rows = await this.db
      .selectFrom('check_locations')
      .selectAll()
      .where(this.dialect.inList('check_id', ids))
      .orderBy('position')
      .execute();
    return listsOf(rows.map(({ check_id: id, name }) => [id, name]));
  }
}

function stateCounts(
  rows: readonly { readonly rank: number; readonly count: number }[],
): Map<OverviewState, number> {
  return new Map(rows.map(({ rank, count }) => [shownStates[stateAt(rank)], Number(count)]));
}

function listed(
  eb: ExpressionBuilder<Tables, 'checks'>,
  table: 'check_tags' | 'check_locations',
  column: 'tag' | 'name',
  value: string,
) {
  const ids = sql<string>`(select check_id from ${sql.table(table)} where ${sql.ref(column)} = ${value})`;
  return eb('checks.id', 'in', ids as never);
}

function listsOf(pairs: readonly (readonly [string, string])[]): Map<string, string[]> {
  const lists = new Map<string, string[]>();
  for (const [id, text] of pairs) lists.set(id, [...(lists.get(id) ?? []), text]);
  return lists;
}
