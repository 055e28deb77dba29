import { Repository } from '@picket/platform/store/engine/repository.ts';
import { isInParts, nextOfParts } from '@picket/platform/store/engine/schedule-parts.ts';
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import {
  type Check,
  type CheckColumns,
  definedColumns,
  fromRow,
  plannedColumns,
  slotColumns,
} from '../stored-definition.ts';
import type { CheckRow } from '../tables.ts';
import type { PlannedSlots } from './slot-state.ts';

/** Clocks of processes differ; slots of a time that is this much ahead are in the ledger, and come once. */
const aheadMs = 60_000;

/** A slot that this transaction has locked. */
interface HeldSlot {
  readonly check_id: string;
  readonly next_slot_at: number | null;
  readonly is_plain: 0 | 1;
}

/**
 * The schedule of all checks: `check_slots` has a narrow row for each. A turn of the scheduler changes nothing else, so
 * that a slot costs no new version of a row with a definition, nor entries in its indexes (ADR 54).
 *
 * Locks: a change of a check locks its row, then its slot. The scheduler locks slots, and skips those that are held;
 * while it holds one, no change of the check is committed. It locks rows of checks only where it changes them, and never
 * waits for them.
 */
export class DueChecks extends Repository {
  /**
   * Checks in the given parts of the schedule with a due slot, oldest first, about `limit` at most; their slots are
   * locked until the end of the transaction. Each part gives as many, so one with more may leave some for the next call.
   */
  async due(parts: readonly number[], now: number, limit: number): Promise<Check[]> {
    const due = this.#slots().where('next_slot_at', '<=', now);
    const chosen = this.dialect.dividesSchedule
      ? due.where(
          sql<boolean>`check_id = any(array(
            select check_id from ${nextOfParts(parts, limit)} as next where next_slot_at <= ${now}))`,
        )
      : due.limit(limit);
    const held = await chosen.orderBy('next_slot_at').modifyEnd(this.dialect.forUpdateSkipLocked).execute();
    return this.#checksOf(held);
  }

  /**
   * Checks with a plain grid whose next slot lies within a short time, earliest first; their slots are locked until the
   * end of the transaction.
   *
   * @param window after one instant and up to another, in epoch milliseconds.
   */
  async dueWithin(
    parts: readonly number[],
    window: { readonly after: number; readonly until: number },
    limit: number,
  ): Promise<Check[]> {
    const held = await this.#ofParts(parts)
      .where('next_slot_at', '>', window.after)
      .where('next_slot_at', '<=', window.until)
      .where('is_plain', '=', 1)
      .orderBy('next_slot_at')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
    return this.#checksOf(held);
  }

  /** Checks in the given parts whose next slot is more than one interval ahead, or was computed at a later time. */
  async ahead(parts: readonly number[], now: number, limit: number): Promise<Check[]> {
    const held = await this.#ofParts(parts)
      .where(sql<boolean>`next_slot_at - interval_ms > ${now}`)
      .where('is_plain', '=', 1)
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
    const planned = await this.#ofParts(parts)
      .where('is_plain', '=', 0)
      .where((eb) =>
        eb(
          'check_id',
          'in',
          eb
            .selectFrom('checks')
            .select('id')
            .where('planned_at', '>', now + aheadMs),
        ),
      )
      .limit(limit - held.length)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
    return this.#checksOf([...held, ...planned]);
  }

  #slots() {
    return this.db.selectFrom('check_slots').select(['check_id', 'next_slot_at', 'is_plain']);
  }

  #ofParts(parts: readonly number[]) {
    return this.dialect.dividesSchedule ? this.#slots().where(isInParts(parts)) : this.#slots();
  }

  /**
   * Checks of locked slots, in their order. Read after the lock: a change that was committed before is in them. The
   * plans of checks without a plain grid are in their own rows, so these are locked too; one that is being changed is
   * left out, because its writer waits for the slot.
   */
  async #checksOf(held: readonly HeldSlot[]): Promise<Check[]> {
    const rows = new Map<string, CheckColumns>();
    for (const [isPlain, slots] of Map.groupBy(held, ({ is_plain: plain }) => plain === 1)) {
      const own = this.db
        .selectFrom('checks')
        .select([...definedColumns, ...plannedColumns])
        .where(
          this.dialect.inList(
            'id',
            slots.map(({ check_id: id }) => id),
          ),
        );
      const query = isPlain ? own : own.modifyEnd(this.dialect.forUpdateSkipLocked);
      for (const row of await query.execute()) rows.set(row.id, row);
    }
    return held.flatMap(({ check_id: id, next_slot_at: dueAt }) => {
      const row = rows.get(id);
      return row ? [fromRow({ ...row, due_at: dueAt })] : [];
    });
  }

  /** Checks of locked rows, with their slots, which are locked too: the scheduler does not take them meanwhile. */
  protected async lockedChecks(rows: readonly Selectable<CheckRow>[]): Promise<Check[]> {
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const held = await this.#slots()
      .where(this.dialect.inList('check_id', ids))
      .orderBy('check_id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    const slots = new Map(held.map(({ check_id: id, next_slot_at: dueAt }) => [id, dueAt]));
    return rows.map((row) => fromRow({ ...row, due_at: slots.get(row.id) ?? null }));
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
    await sql`update check_slots set next_slot_at = moved.at
      from ${this.dialect.pairRows(['id', 'at'], slots)} as moved
      where check_slots.check_id = moved.id`.execute(this.db);
  }

  /** When the next slot of any check in the given parts is due, or null. */
  async nextSlotAt(parts: readonly number[]): Promise<number | null> {
    if (this.dialect.dividesSchedule) {
      const { rows } = await sql<{ at: number | null }>`
        select min(next_slot_at) as at from ${nextOfParts(parts, 1)} as next`.execute(this.db);
      return rows[0]?.at ?? null;
    }
    const row = await this.db
      .selectFrom('check_slots')
      .select((eb) => eb.fn.min('next_slot_at').as('at'))
      .where('next_slot_at', 'is not', null)
      .executeTakeFirst();
    return row?.at ?? null;
  }
}
