import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { CheckState } from '@picket/protocol/checks/check-state.ts';
import { sql } from 'kysely';
import { MaintenanceCalendar } from '../../maintenance/calendar.ts';
import { MaintenanceWindows } from '../../maintenance/window-store.ts';
import { freshSince, isUnderWay, pinged, stateAt, stateOf, turnsAt } from './check-state.ts';
import { PausedChecks } from './paused-checks.ts';

/** State of a check. */
export interface StandingCheck {
  readonly state: CheckState;
  /** Locations of a parallel check that are not measured. */
  readonly notMeasuredAt: readonly string[];
}

/** States of any number of checks in two statements. */
export class CheckStates extends Repository {
  /** Condition for checks that are paused now, for the given accounts or all. */
  async paused(accountIds: readonly string[] | undefined, now: number): Promise<PausedChecks> {
    const windows = new MaintenanceWindows(this.db, this.dialect);
    const ids = accountIds ?? (await this.#accountsWithWindows());
    const begun = await windows.ofAccountsWithin(ids, { from: now, to: now });
    if (begun.length === 0) return new PausedChecks([], this.dialect);
    const changes = await windows.maintenances.changes(begun.map(({ id }) => id));
    return new PausedChecks(
      begun.filter(({ id, definition }) =>
        new MaintenanceCalendar(definition, changes.get(id) ?? []).isInEffect(now),
      ),
      this.dialect,
    );
  }

  /** States of the given checks of an account, or of all its checks. */
  async of(
    accountId: string,
    checkIds: readonly string[] | undefined,
    now: number,
  ): Promise<Map<string, StandingCheck>> {
    const rank = stateOf(now, await this.paused([accountId], now));
    let query = this.db
      .selectFrom('checks')
      .leftJoin('statuses', 'statuses.check_id', 'checks.id')
      .where('checks.account_id', '=', accountId);
    if (checkIds) query = query.where(this.dialect.inList('checks.id', [...new Set(checkIds)]));
    const rows = await query.select(['checks.id', 'checks.run_parallel', rank.as('rank')]).execute();
    const parallel = rows.flatMap(({ id, run_parallel: isParallel }) => (isParallel === 1 ? [id] : []));
    const places = await this.#unmeasuredPlaces(accountId, checkIds && parallel, parallel.length > 0, now);
    return new Map(
      rows.map((row) => {
        const state = stateAt(row.rank);
        return [row.id, { state, notMeasuredAt: state === 'paused' ? [] : (places.get(row.id) ?? []) }];
      }),
    );
  }

  /** Latest time at which a check of an account changed state by time alone; 0 if none did. */
  async lastTurn(accountId: string, now: number): Promise<number> {
    const row = await this.#turned(accountId, now)
      .select(sql<number | null>`max(${turnsAt(now)})`.as('at'))
      .executeTakeFirst();
    return Number(row?.at ?? 0);
  }

  /** When each of the given checks changed state by time alone; omits those that did not. */
  async turnsOf(accountId: string, checkIds: readonly string[], now: number): Promise<Map<string, number>> {
    const rows = await this.#turned(accountId, now)
      .where(this.dialect.inList('checks.id', checkIds))
      .select(['checks.id', turnsAt(now).as('at')])
      .execute();
    return new Map(rows.map(({ id, at }) => [id, Number(at)]));
  }

  #turned(accountId: string, now: number) {
    return this.db
      .selectFrom('checks')
      .leftJoin('statuses', 'statuses.check_id', 'checks.id')
      .where('checks.account_id', '=', accountId)
      .where('checks.activated', '=', 1)
      .where(turnsAt(now), '<', now);
  }

  /** Locations where parallel checks are not measured. */
  async #unmeasuredPlaces(
    accountId: string,
    checkIds: readonly string[] | undefined,
    areAny: boolean,
    now: number,
  ): Promise<Map<string, string[]>> {
    if (!areAny) return new Map();
    let query = this.db
      .selectFrom('checks')
      .innerJoin('check_locations', 'check_locations.check_id', 'checks.id')
      .leftJoin('location_statuses', (join) =>
        join
          .onRef('location_statuses.check_id', '=', 'checks.id')
          .onRef('location_statuses.slot_location', '=', 'check_locations.name'),
      )
      .where('checks.account_id', '=', accountId)
      .where('checks.run_parallel', '=', 1)
      .where('checks.activated', '=', 1)
      .where(sql<boolean>`checks.check_type not in (${sql.join(pinged)})`)
      .where(
        sql<boolean>`coalesce(location_statuses.slot_at, checks.updated, checks.created) < ${freshSince(now)}`,
      )
      .where(sql<boolean>`not ${isUnderWay(sql.ref('check_locations.name'))}`);
    if (checkIds) query = query.where(this.dialect.inList('checks.id', checkIds));
    const rows = await query
      .select(['checks.id', 'check_locations.name'])
      .orderBy('check_locations.position')
      .execute();
    const byCheck = Map.groupBy(rows, ({ id }) => id);
    return new Map([...byCheck].map(([id, own]) => [id, own.map(({ name }) => name)]));
  }

  async #accountsWithWindows(): Promise<string[]> {
    const rows = await this.db.selectFrom('maintenance_windows').select('account_id').distinct().execute();
    return rows.map(({ account_id: id }) => id);
  }
}
