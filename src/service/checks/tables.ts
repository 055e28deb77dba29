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
  /** When the next slot is due; null for checks that are not scheduled. */
  next_slot_at: number | null;
  /** Milliseconds between two slots. */
  interval_ms: number;
  run_parallel: Flag;
  /** URL of the request in lower case, for searches; null for checks without a request. */
  url_search: string | null;
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
  check_tags: CheckTagRow;
  check_locations: CheckLocationRow;
  purges: PurgeRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends CheckTables {}
}
