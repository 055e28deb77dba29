import { CommonFields } from '@picket/checks/contract/definition/common-fields.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { CheckRow } from './tables.ts';
import type { PlannedSlots } from './timing/slot-state.ts';

/** A stored check. */
export interface Check {
  readonly id: string;
  readonly accountId: string;
  readonly groupId: number | null;
  readonly name: string;
  readonly checkType: string;
  readonly activated: boolean;
  /** As its definition schema returned it, with a frequencyOffset. */
  readonly definition: Readonly<Record<string, unknown>>;
  readonly created: number;
  readonly updated: number | null;
  readonly slots: PlannedSlots;
}

/** Columns of a check that are written. */
export interface CheckWrite {
  readonly name: string;
  readonly activated: boolean;
  readonly muted: boolean;
  readonly groupId: number | null;
  readonly groupOrder: number | null;
  readonly tags: readonly string[];
  /** Regions and slugs, in order, without repetitions. */
  readonly locations: readonly string[];
  readonly definition: Readonly<Record<string, unknown>>;
  readonly slots: PlannedSlots;
  /** Milliseconds between two slots. */
  readonly intervalMs: number;
  readonly runParallel: boolean;
  /** URL of the request with its templates, for searches; null for types without a request. */
  readonly url: string | null;
}

const column = 'checks.definition';
const ofAnyType = storedJson(column, CommonFields);
const byType = new Map<string, (text: string) => Record<string, unknown>>(
  checkTypes.map((type) => [
    type.name,
    storedJson(
      column,
      lazySchema(() => z.object({ ...CommonFields.shape, ...type.spec.shape })),
    ),
  ]),
);

/** Parses the definition of a check; another build may have known its type. */
export function checkDefinition(checkType: string, text: string): Record<string, unknown> {
  return (byType.get(checkType) ?? ofAnyType)(text);
}

/** Total length of the remembered definitions, in characters. */
const rememberedChars = 4_000_000;
interface Remembered {
  readonly text: string;
  readonly definition: Readonly<Record<string, unknown>>;
}
const remembered = new LruMap<string, Remembered>(rememberedChars, ({ text }) => text.length);

/**
 * The parsed definition of a row. A check is read twice for each of its runs, and its definition rarely changes: it is
 * parsed once. All readers share it, so nothing may change it. Only its own fields are frozen: V8 takes three times as
 * long to write frozen objects as JSON, and each lease contains those below it.
 */
function definitionOf({
  id,
  check_type: checkType,
  definition: text,
}: Pick<Selectable<CheckRow>, 'id' | 'check_type' | 'definition'>) {
  const known = remembered.get(id);
  if (known?.text === text) return known.definition;
  const definition = Object.freeze(checkDefinition(checkType, text));
  remembered.set(id, { text, definition });
  return definition;
}

/** A check as columns of its row. */
export function columns(write: CheckWrite) {
  return {
    name: write.name,
    name_search: write.name.toLowerCase(),
    activated: write.activated ? (1 as const) : (0 as const),
    muted: write.muted ? (1 as const) : (0 as const),
    group_id: write.groupId,
    group_order: write.groupOrder,
    definition: JSON.stringify(write.definition),
    ...slotColumns(write.slots),
    interval_ms: write.intervalMs,
    run_parallel: write.runParallel ? (1 as const) : (0 as const),
    url_search: write.url === null ? null : write.url.toLowerCase(),
  };
}

/** Its slots as columns of its row. */
export function slotColumns(slots: PlannedSlots) {
  return {
    next_slot_at: slots.nextSlotAt,
    planned_at: slots.plannedAt,
    newest_slot_at: slots.newestSlotAt,
    second_slot_at: slots.secondSlotAt,
    third_slot_at: slots.thirdSlotAt,
    newest_fresh_ms: slots.newestFreshMs,
    rests_from: slots.restsFrom,
    slot_number: slots.slotNumber,
  };
}

/** A check without its slots. */
export type DefinedCheck = Omit<Check, 'slots'>;

/** Columns of a check that are read with its definition. */
export const definedColumns = [
  'id',
  'account_id',
  'group_id',
  'name',
  'check_type',
  'activated',
  'definition',
  'created',
  'updated',
] as const satisfies (keyof CheckRow)[];

/** Columns of the plan of its slots. */
export const plannedColumns = [
  'planned_at',
  'newest_slot_at',
  'second_slot_at',
  'third_slot_at',
  'newest_fresh_ms',
  'rests_from',
  'slot_number',
] as const satisfies (keyof CheckRow)[];

export function definedCheck(row: Pick<Selectable<CheckRow>, (typeof definedColumns)[number]>): DefinedCheck {
  return {
    id: row.id,
    accountId: row.account_id,
    groupId: row.group_id,
    name: row.name,
    checkType: row.check_type,
    activated: row.activated === 1,
    definition: definitionOf(row),
    created: row.created,
    updated: row.updated,
  };
}

export type CheckColumns = Pick<
  Selectable<CheckRow>,
  (typeof definedColumns)[number] | (typeof plannedColumns)[number]
>;

/** @param row with its next slot, which is in `check_slots`. */
export function fromRow(row: CheckColumns & { readonly due_at: number | null }): Check {
  return {
    ...definedCheck(row),
    slots: {
      nextSlotAt: row.due_at,
      plannedAt: row.planned_at,
      newestSlotAt: row.newest_slot_at,
      secondSlotAt: row.second_slot_at,
      thirdSlotAt: row.third_slot_at,
      newestFreshMs: row.newest_fresh_ms,
      restsFrom: row.rests_from,
      slotNumber: row.slot_number,
    },
  };
}
