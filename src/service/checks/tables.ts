type Flag = 0 | 1;

export interface CheckRow {
  id: string;
  account_id: string;
  name: string;
  /** Name in lower case, for searches; databases disagree on what lower case is. */
  name_search: string;
  check_type: string;
  activated: Flag;
  muted: Flag;
  group_id: number | null;
  /** Position within the group; null sorts last. */
  group_order: number | null;
  definition: string;
  created: number;
  updated: number | null;
  /** Its next slot after the last change of the check. A trigger copies it to `check_slots`, where the scheduler moves it on. */
  next_slot_at: number | null;
  /** When that was computed; null for checks with a plain grid, and the following up to `rests_from`, too. */
  planned_at: number | null;
  newest_slot_at: number | null;
  second_slot_at: number | null;
  third_slot_at: number | null;
  newest_fresh_ms: number | null;
  /** From here up to its next slot it is outside its hours. */
  rests_from: number | null;
  /** Number of slots that were due while it had no plain grid. */
  slot_number: number;
  /** Milliseconds between two slots. */
  interval_ms: number;
  run_parallel: Flag;
  /** URL of the request in lower case, for searches; null for checks without a request. */
  url_search: string | null;
}

/** The schedule of a check: the row that the scheduler changes with each slot. */
export interface CheckSlotRow {
  check_id: string;
  /** When the scheduler looks at it, mostly its next slot; null for checks that are not scheduled. */
  next_slot_at: number | null;
  /** Milliseconds between two slots. */
  interval_ms: number;
  /** 1: its next slot follows from the last one and the interval. */
  is_plain: Flag;
}

export interface CheckTagRow {
  check_id: string;
  tag: string;
}

/** Locations of a check in order: regions and slugs of private locations, which cannot be confused with each other. */
export interface CheckLocationRow {
  check_id: string;
  position: number;
  name: string;
}

/** A deleted check whose results still have to be deleted. */
export interface PurgeRow {
  check_id: string;
  created: number;
}

export interface CheckTables {
  checks: CheckRow;
  check_slots: CheckSlotRow;
  check_tags: CheckTagRow;
  check_locations: CheckLocationRow;
  purges: PurgeRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends CheckTables {}
}
