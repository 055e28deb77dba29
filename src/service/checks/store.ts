import { escapeLike } from '@picket/platform/store/engine/dialect.ts';
import { batches, type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { type CheckState, checkStates } from '@picket/protocol/checks/check-state.ts';
import type { RawBuilder } from 'kysely';
import { sql } from 'kysely';
import { stateOf } from './state/check-state.ts';
import { CheckStates } from './state/states.ts';
import {
  type Check,
  type CheckWrite,
  columns,
  type DefinedCheck,
  definedCheck,
  definedColumns,
  fromRow,
  slotColumns,
} from './stored-definition.ts';
import { DueChecks } from './timing/due-checks.ts';
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

/** The next slot of a check, as the scheduler has left it. */
const dueAt = sql<number | null>`(select check_slots.next_slot_at from check_slots
  where check_slots.check_id = checks.id)`.as('due_at');

export class Checks extends DueChecks {
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
      .select(dueAt)
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return row && fromRow(row);
  }

  /** Same, for a check that this transaction is going to change. */
  async findForUpdate(accountId: string, id: string): Promise<Check | undefined> {
    const rows = await this.db
      .selectFrom('checks')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    return (await this.lockedChecks(rows))[0];
  }

  async findMany(ids: readonly string[]): Promise<Map<string, Check>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('checks')
      .selectAll()
      .select(dueAt)
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .execute();
    return new Map(rows.map((row) => [row.id, fromRow(row)]));
  }

  /** Checks by id, without their slots: for what an agent runs, and often. */
  async findDefinitions(ids: readonly string[]): Promise<Map<string, DefinedCheck>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('checks')
      .select(definedColumns)
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .execute();
    return new Map(rows.map((row) => [row.id, definedCheck(row)]));
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
    return this.lockedChecks(rows);
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
      .select(dueAt)
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
      .select(dueAt)
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
    return this.lockedChecks(rows);
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
      .select(dueAt)
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
      .select(dueAt)
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
}
