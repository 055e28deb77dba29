import { escapeLike } from '@picket/platform/store/engine/dialect.ts';
import { batches, type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { isInParts, nextOfParts } from '@picket/platform/store/engine/schedule-parts.ts';
import { type CheckState, checkStates } from '@picket/protocol/checks/check-state.ts';
import type { RawBuilder } from 'kysely';
import { sql } from 'kysely';
import { stateOf } from './state/check-state.ts';
import { CheckStates } from './state/states.ts';
import { type Check, type CheckWrite, columns, fromRow, slotColumns } from './stored-definition.ts';
import type { PlannedSlots } from './timing/slot-state.ts';

export type { Check, CheckWrite };

/** Subscriber of a channel: a check, or all checks of a group. */
export type Subscriber = { readonly checkId: string } | { readonly groupId: number };

/** A channel of a subscriber. */
export interface Subscription {
  readonly alertChannelId: number;
  readonly activated: boolean;
}

export interface CheckFilter {
  readonly tags?: readonly string[] | undefined;
  readonly checkType?: string | undefined;
  readonly search?: string | undefined;
  /** Checks in one of the states at an instant. */
  readonly standing?: { readonly states: readonly CheckState[]; readonly now: number } | undefined;
  readonly urlPart?: string | undefined;
}

/** Clocks of processes differ; slots of a time that is this much ahead are in the ledger, and come once. */
const aheadMs = 60_000;

export class Checks extends Repository {
  async insert(
    id: string,
    accountId: string,
    checkType: string,
    write: CheckWrite,
    now: number,
  ): Promise<void> {
    await this.db
      .insertInto('checks')
      .values({
        id,
        account_id: accountId,
        check_type: checkType,
        created: now,
        updated: null,
        ...columns(write),
      })
      .execute();
    await this.#writeLists(id, write);
  }

  async update(id: string, write: CheckWrite, now: number): Promise<void> {
    await this.db
      .updateTable('checks')
      .set({ ...columns(write), updated: now })
      .where('id', '=', id)
      .execute();
    await this.db.deleteFrom('check_tags').where('check_id', '=', id).execute();
    await this.db.deleteFrom('check_locations').where('check_id', '=', id).execute();
    await this.#writeLists(id, write);
  }

  async #writeLists(id: string, write: CheckWrite): Promise<void> {
    const tags = [...new Set(write.tags)].map((tag) => ({ check_id: id, tag }));
    for (const batch of batches(tags)) await this.db.insertInto('check_tags').values(batch).execute();
    const locations = write.locations.map((name, position) => ({ check_id: id, position, name }));
    for (const batch of batches(locations)) {
      await this.db.insertInto('check_locations').values(batch).execute();
    }
  }

  async find(accountId: string, id: string): Promise<Check | undefined> {
    const row = await this.db
      .selectFrom('checks')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return row && fromRow(row);
  }

  /** Same, for a check that this transaction is going to change. */
  async findForUpdate(accountId: string, id: string): Promise<Check | undefined> {
    const row = await this.db
      .selectFrom('checks')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .modifyEnd(this.dialect.forUpdate)
      .executeTakeFirst();
    return row && fromRow(row);
  }

  async findMany(ids: readonly string[]): Promise<Map<string, Check>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('checks')
      .selectAll()
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .execute();
    return new Map(rows.map((row) => [row.id, fromRow(row)]));
  }

  /** Checks of an account that match, ordered by id; locked until the end of the transaction. */
  async lockMany(
    accountId: string,
    filter: {
      readonly ids?: readonly string[] | undefined;
      readonly groupId?: number | undefined;
      readonly isActivated?: boolean | undefined;
    },
    limit: number,
  ): Promise<Check[]> {
    let query = this.db.selectFrom('checks').selectAll().where('account_id', '=', accountId);
    if (filter.ids) query = query.where(this.dialect.inList('id', filter.ids));
    if (filter.groupId !== undefined) query = query.where('group_id', '=', filter.groupId);
    if (filter.isActivated !== undefined) query = query.where('activated', '=', filter.isActivated ? 1 : 0);
    const rows = await query.orderBy('id').limit(limit).modifyEnd(this.dialect.forUpdate).execute();
    return rows.map(fromRow);
  }

  async delete(id: string): Promise<void> {
    await this.db.deleteFrom('checks').where('id', '=', id).execute();
  }

  async list(
    accountId: string,
    filter: CheckFilter,
    page: Page,
  ): Promise<{ total: number; checks: Check[] }> {
    const filtered = this.#filtered(accountId, filter, await this.#isStanding(accountId, filter));
    const ordered = filtered
      .selectAll('checks')
      .orderBy('checks.created', 'desc')
      .orderBy('checks.id', 'desc');
    const { total, rows } = await readPage(ordered, page);
    return { total, checks: rows.map(fromRow) };
  }

  async #isStanding(accountId: string, { standing }: CheckFilter): Promise<RawBuilder<boolean> | undefined> {
    if (standing === undefined) return undefined;
    const { states, now } = standing;
    const rank = stateOf(now, await new CheckStates(this.db, this.dialect).paused([accountId], now));
    const ranks = states.map((state) => sql.lit(checkStates.indexOf(state)));
    return ranks.length === 0 ? sql`false` : sql`${rank} in (${sql.join(ranks)})`;
  }

  #filtered(accountId: string, filter: CheckFilter, isStanding: RawBuilder<boolean> | undefined) {
    let query = this.db.selectFrom('checks').where('checks.account_id', '=', accountId);
    const { tags, checkType, search, urlPart } = filter;
    if (checkType !== undefined) query = query.where('checks.check_type', '=', checkType);
    if (search !== undefined) {
      const pattern = `%${escapeLike(search.toLowerCase())}%`;
      query = query.where(sql<boolean>`checks.name_search like ${pattern} escape '\\'`);
    }
    if (urlPart !== undefined) {
      const pattern = `%${escapeLike(urlPart.toLowerCase())}%`;
      query = query.where(sql<boolean>`checks.url_search like ${pattern} escape '\\'`);
    }
    if (tags !== undefined) {
      query = query.where('checks.id', 'in', (eb) =>
        eb
          .selectFrom('check_tags')
          .select('check_tags.check_id')
          .where(this.dialect.inList('check_tags.tag', tags)),
      );
    }
    if (isStanding === undefined) return query;
    return query.where('checks.id', 'in', (eb) =>
      eb
        .selectFrom('checks')
        .leftJoin('statuses', 'statuses.check_id', 'checks.id')
        .where('checks.account_id', '=', accountId)
        .where(isStanding)
        .select('checks.id'),
    );
  }

  /** A page of the checks of a group: by their position in it, then oldest first. */
  async listOfGroup(groupId: number, page: Page): Promise<{ total: number; checks: Check[] }> {
    const query = this.db.selectFrom('checks').where('group_id', '=', groupId);
    const ordered = query
      .selectAll()
      .orderBy(sql`case when group_order is null then 1 else 0 end`)
      .orderBy('group_order')
      .orderBy('created')
      .orderBy('id');
    const { total, rows } = await readPage(ordered, page);
    return { total, checks: rows.map(fromRow) };
  }

  /** All checks of a group, locked in order of id. */
  async ofGroupForUpdate(groupId: number): Promise<Check[]> {
    const rows = await this.db
      .selectFrom('checks')
      .selectAll()
      .where('group_id', '=', groupId)
      .orderBy('id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    return rows.map(fromRow);
  }

  /** Changes the schedule of a check without changing its definition. */
  async setSchedule(
    id: string,
    schedule: { readonly slots: PlannedSlots; readonly runParallel: boolean },
  ): Promise<void> {
    await this.db
      .updateTable('checks')
      .set({ ...slotColumns(schedule.slots), run_parallel: schedule.runParallel ? 1 : 0 })
      .where('id', '=', id)
      .execute();
  }

  /** Activated checks that name a location, or whose group may name it for them; oldest first, at most `limit`. */
  async perhapsAt(accountId: string, slugName: string, limit: number): Promise<Check[]> {
    const rows = await this.db
      .selectFrom('checks')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('activated', '=', 1)
      .where((eb) =>
        eb.or([
          eb('group_id', 'is not', null),
          eb(
            'id',
            'in',
            eb.selectFrom('check_locations').select('check_id').where('check_locations.name', '=', slugName),
          ),
        ]),
      )
      .orderBy('created')
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map(fromRow);
  }

  /** Checks of an account whose address contains a template, optionally of one group or with a given word in it. */
  async withTemplates(
    accountId: string,
    { groupId, name }: { readonly groupId?: number; readonly name?: string },
  ): Promise<Check[]> {
    let query = this.db
      .selectFrom('checks')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('url_search', 'like', '%{{%');
    if (groupId !== undefined) query = query.where('group_id', '=', groupId);
    if (name !== undefined) {
      // Block helpers can reference a variable without its name.
      const parts = [name.toLowerCase(), 'each', 'lookup', 'this', 'with', '@', '..'].map(escapeLike);
      query = query.where(({ or }) =>
        or(parts.map((part) => sql<boolean>`url_search like ${`%${part}%`} escape '\\'`)),
      );
    }
    return (await query.execute()).map(fromRow);
  }

  /** Names of the checks that use a location, at most `limit`. */
  async namesUsing(accountId: string, slugName: string, limit: number): Promise<string[]> {
    const rows = await this.db
      .selectFrom('check_locations')
      .innerJoin('checks', 'checks.id', 'check_locations.check_id')
      .select('checks.name')
      .where('check_locations.name', '=', slugName)
      .where('checks.account_id', '=', accountId)
      .orderBy('checks.created')
      .limit(limit)
      .execute();
    return rows.map((row) => row.name);
  }

  /**
   * Checks in the given parts of the schedule with a due slot, oldest first, about `limit` at most; locked until the end
   * of the transaction. Each part gives as many, so one with more may leave some for the next call.
   */
  async due(parts: readonly number[], now: number, limit: number): Promise<Check[]> {
    const due = this.db.selectFrom('checks').selectAll().where('next_slot_at', '<=', now);
    const chosen = this.dialect.dividesSchedule
      ? due.where(
          sql<boolean>`id = any(array(
            select id from ${nextOfParts(parts, limit)} as next where next_slot_at <= ${now}))`,
        )
      : due.limit(limit);
    const rows = await chosen.orderBy('next_slot_at').modifyEnd(this.dialect.forUpdateSkipLocked).execute();
    return rows.map(fromRow);
  }

  /**
   * Checks with a plain grid whose next slot lies within a short time, earliest first; locked until the end of the
   * transaction.
   *
   * @param window after one instant and up to another, in epoch milliseconds.
   */
  async dueWithin(
    parts: readonly number[],
    window: { readonly after: number; readonly until: number },
    limit: number,
  ): Promise<Check[]> {
    const all = this.db.selectFrom('checks').selectAll();
    const rows = await (this.dialect.dividesSchedule ? all.where(isInParts(parts)) : all)
      .where('next_slot_at', '>', window.after)
      .where('next_slot_at', '<=', window.until)
      .where('planned_at', 'is', null)
      .orderBy('next_slot_at')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
    return rows.map(fromRow);
  }

  /** Checks in the given parts whose next slot is more than one interval ahead, or was computed at a later time. */
  async ahead(parts: readonly number[], now: number, limit: number): Promise<Check[]> {
    const all = this.db.selectFrom('checks');
    const checks = this.dialect.dividesSchedule ? all.where(isInParts(parts)) : all;
    const rows = await checks
      .selectAll()
      .where('next_slot_at', 'is not', null)
      .where(sql<boolean>`next_slot_at - interval_ms > ${now}`)
      .where('planned_at', 'is', null)
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
    const planned = await checks
      .selectAll()
      .where('planned_at', '>', now + aheadMs)
      .limit(limit - rows.length)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
    return [...rows, ...planned].map(fromRow);
  }

  /** Sets the slots of all given checks: those with a plain grid in one statement, as there are many. */
  async setPlannedSlots(all: readonly (readonly [checkId: string, slots: PlannedSlots])[]): Promise<void> {
    const plain = all.filter(([, { plannedAt }]) => plannedAt === null);
    await this.setNextSlots(
      plain.flatMap(([id, { nextSlotAt }]) => (nextSlotAt === null ? [] : [[id, nextSlotAt]])),
    );
    const others = all.filter(([, { plannedAt }]) => plannedAt !== null);
    for (const [id, slots] of others) {
      await this.db.updateTable('checks').set(slotColumns(slots)).where('id', '=', id).execute();
    }
  }

  /** Sets the next slots of all given checks in one statement. */
  async setNextSlots(slots: readonly (readonly [checkId: string, nextSlotAt: number])[]): Promise<void> {
    if (slots.length === 0) return;
    await sql`update checks set next_slot_at = moved.at
      from ${this.dialect.pairRows(['check_id', 'at'], slots)} as moved
      where checks.id = moved.check_id`.execute(this.db);
  }

  /** When the next slot of any check in the given parts is due, or null. */
  async nextSlotAt(parts: readonly number[]): Promise<number | null> {
    if (this.dialect.dividesSchedule) {
      const { rows } = await sql<{ at: number | null }>`
        select min(next_slot_at) as at from ${nextOfParts(parts, 1)} as next`.execute(this.db);
      return rows[0]?.at ?? null;
    }
    const row = await this.db
      .selectFrom('checks')
      .select((eb) => eb.fn.min('next_slot_at').as('at'))
      .where('next_slot_at', 'is not', null)
      .executeTakeFirst();
    return row?.at ?? null;
  }
}
