import { isSince } from '@picket/platform/store/days/ended-day.ts';
import { type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { type Selectable, sql } from 'kysely';
import type { GapGroupRow, MonitoringGapRow } from '../tables.ts';
import type { GapReason, Unmeasured } from './gap.ts';

/** Key of a group: gaps with the same cause at the same location. */
export type GroupKey = Pick<Unmeasured, 'accountId' | 'location' | 'cause'>;

/** Unmeasured slots of checks since their last measurement, by location, and the groups of open gaps. */
export class MonitoringGaps extends Repository {
  /** Unmeasured slots of the given checks; locked in a fixed order. */
  async lock(checkIds: readonly string[]): Promise<Unmeasured[]> {
    if (checkIds.length === 0) return [];
    const rows = await this.db
      .selectFrom('monitoring_gaps')
      .selectAll()
      .where(this.dialect.inList('check_id', [...new Set(checkIds)]))
      .orderBy('check_id')
      .orderBy('location')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    return rows.map(fromRow);
  }

  /** Gaps that time alone may open now; locked, skipping those locked by another process. */
  async due(now: number, limit: number): Promise<Unmeasured[]> {
    const rows = await this.db
      .selectFrom('monitoring_gaps')
      .selectAll()
      .where('next_at', '<=', now)
      .orderBy('next_at')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
    return rows.map(fromRow);
  }

  async nextDueAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('monitoring_gaps')
      .select((eb) => eb.fn.min('next_at').as('at'))
      .where('next_at', 'is not', null)
      .executeTakeFirst();
    return row?.at ?? null;
  }

  async save(gap: Unmeasured): Promise<void> {
    const row = toRow(gap);
    await this.db
      .insertInto('monitoring_gaps')
      .values(row)
      .onConflict((conflict) => conflict.columns(['check_id', 'location']).doUpdateSet(row))
      .execute();
  }

  async delete({ checkId, location }: Pick<Unmeasured, 'checkId' | 'location'>): Promise<void> {
    await this.db
      .deleteFrom('monitoring_gaps')
      .where('check_id', '=', checkId)
      .where('location', '=', location)
      .execute();
  }

  /** Deletes unmeasured slots at a location with the given reasons that are not an open gap. */
  async forgetShort(
    { accountId, location }: Pick<Unmeasured, 'accountId' | 'location'>,
    reasons: readonly GapReason[],
  ): Promise<void> {
    await this.db
      .deleteFrom('monitoring_gaps')
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('opened', 'is', null)
      .where('reason', 'in', reasons)
      .execute();
  }

  /** Newest measured slot per check and location, from an instant on. */
  async lastMeasured(
    pairs: readonly Pick<Unmeasured, 'checkId' | 'location'>[],
    from: number,
  ): Promise<{ checkId: string; location: string; at: number }[]> {
    if (pairs.length === 0) return [];
    const rows = await this.db
      .selectFrom('runs')
      .select(['check_id', 'slot_location', (eb) => eb.fn.max('slot_at').as('at')])
      .where(this.dialect.inList('check_id', [...new Set(pairs.map(({ checkId }) => checkId))]))
      .where(this.dialect.inList('slot_location', [...new Set(pairs.map(({ location }) => location))]))
      .where(isSince(from))
      .where('slot_at', '>=', from)
      .where('state', '=', 'final')
      .groupBy(['check_id', 'slot_location'])
      .execute();
    return rows.map((row) => ({ checkId: row.check_id, location: row.slot_location, at: Number(row.at) }));
  }

  /** Opens a group, or finds the open one; locked. */
  async group(row: GapGroupRow): Promise<{ group: GapGroupRow; isNew: boolean }> {
    const inserted = await this.db
      .insertInto('gap_groups')
      .values(row)
      .onConflict((conflict) => conflict.columns(['account_id', 'location', 'cause']).doNothing())
      .returning('id')
      .execute();
    const group = await this.#ofGroup({ accountId: row.account_id, location: row.location, cause: row.cause })
      .modifyEnd(this.dialect.forUpdate)
      .executeTakeFirstOrThrow();
    return { group, isNew: inserted.length > 0 };
  }

  /** Ends a group that has no open gaps left; undefined while it has one, or if no group exists. */
  async endGroup(key: GroupKey): Promise<GapGroupRow | undefined> {
    const group = await this.#ofGroup(key).modifyEnd(this.dialect.forUpdate).executeTakeFirst();
    if (!group || (await this.members(key)).length > 0) return undefined;
    await this.db.deleteFrom('gap_groups').where('id', '=', group.id).execute();
    return group;
  }

  /** All groups of one cause. */
  async groupsOf(cause: string): Promise<GapGroupRow[]> {
    return this.db.selectFrom('gap_groups').selectAll().where('cause', '=', cause).execute();
  }

  /** Ids of the checks with open gaps in a group. */
  async members({ accountId, location, cause }: GroupKey): Promise<string[]> {
    const rows = await this.db
      .selectFrom('monitoring_gaps')
      .select('check_id')
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('cause', '=', cause)
      .where('opened', 'is not', null)
      .orderBy('opened')
      .execute();
    return rows.map((row) => row.check_id);
  }

  /** Open gaps and groups among the given: ids of the alerts of groups, and checks with their locations. */
  async openAmong(checkIds: readonly string[], alertIds: readonly string[]): Promise<Set<string>> {
    if (checkIds.length === 0) return new Set();
    const gaps = await this.db
      .selectFrom('monitoring_gaps')
      .select(['check_id', 'location'])
      .where(this.dialect.inList('check_id', checkIds))
      .where('opened', 'is not', null)
      .execute();
    const groups = await this.db
      .selectFrom('gap_groups')
      .select('id')
      .where(this.dialect.inList('id', alertIds))
      .execute();
    return new Set([...gaps.map((row) => `${row.check_id} ${row.location}`), ...groups.map(({ id }) => id)]);
  }

  /** Marks gaps of an account that may be held back for re-evaluation. */
  async lookAgain(accountId: string, now: number): Promise<void> {
    await this.db
      .updateTable('monitoring_gaps')
      .set({ next_at: now })
      .where('account_id', '=', accountId)
      .where('next_at', 'is not', null)
      .execute();
  }

  /** Same for one check. */
  async lookAgainAt(checkId: string, now: number): Promise<void> {
    await this.db
      .updateTable('monitoring_gaps')
      .set({ next_at: now })
      .where('check_id', '=', checkId)
      .where('next_at', 'is not', null)
      .execute();
  }

  /** A batch of all unmeasured entries after a check and its location. */
  async behind(after: Pick<Unmeasured, 'checkId' | 'location'>, limit: number): Promise<Unmeasured[]> {
    const rows = await this.db
      .selectFrom('monitoring_gaps')
      .selectAll()
      .where(sql<boolean>`(check_id, location) > (${after.checkId}, ${after.location})`)
      .orderBy('check_id')
      .orderBy('location')
      .limit(limit)
      .execute();
    return rows.map(fromRow);
  }

  /** A page of open gaps of an account, longest first. */
  async list(accountId: string, page: Page): Promise<{ total: number; gaps: Unmeasured[] }> {
    const query = this.db
      .selectFrom('monitoring_gaps')
      .where('account_id', '=', accountId)
      .where('opened', 'is not', null)
      .selectAll()
      .orderBy('since')
      .orderBy('check_id')
      .orderBy('location');
    const { total, rows } = await readPage(query, page);
    return { total, gaps: rows.map(fromRow) };
  }

  /** Number of checks of an account with an open gap at any location. */
  async checksWithGap(accountId: string): Promise<number> {
    const row = await this.db
      .selectFrom('monitoring_gaps')
      .select((eb) => eb.fn.count<number>('check_id').distinct().as('count'))
      .where('account_id', '=', accountId)
      .where('opened', 'is not', null)
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  }

  /** Number of open gaps by account, location and reason. */
  async countOpen(accountId: string | undefined) {
    let query = this.db
      .selectFrom('monitoring_gaps')
      .select(['account_id', 'location', 'reason', (eb) => eb.fn.countAll<number>().as('count')])
      .where('opened', 'is not', null);
    if (accountId !== undefined) query = query.where('account_id', '=', accountId);
    const rows = await query.groupBy(['account_id', 'location', 'reason']).execute();
    return rows.map((row) => ({ ...row, count: Number(row.count) }));
  }

  #ofGroup({ accountId, location, cause }: GroupKey) {
    return this.db
      .selectFrom('gap_groups')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('cause', '=', cause);
  }
}

function toRow(gap: Unmeasured): MonitoringGapRow {
  return {
    check_id: gap.checkId,
    location: gap.location,
    account_id: gap.accountId,
    location_id: gap.locationId,
    cause: gap.cause,
    reason: gap.reason,
    message: gap.message,
    since: gap.since,
    slots: gap.slots,
    next_at: gap.nextAt,
    opened: gap.openedAt,
  };
}

function fromRow(row: Selectable<Tables['monitoring_gaps']>): Unmeasured {
  return {
    checkId: row.check_id,
    location: row.location,
    accountId: row.account_id,
    locationId: row.location_id,
    cause: row.cause,
    reason: row.reason as GapReason,
    message: row.message,
    since: row.since,
    slots: row.slots,
    nextAt: row.next_at,
    openedAt: row.opened,
  };
}
