import type { Generated } from 'kysely';

export interface CheckGroupRow {
  id: Generated<number>;
  account_id: string;
  name: string;
  /** Name in lower case, for searches. */
  name_search: string;
  /** The group as its schema returned it. */
  definition: string;
  created: number;
  updated: number | null;
}

export interface CheckGroupTagRow {
  group_id: number;
  tag: string;
}

/** Locations of a group's checks: regions and slugs of private locations. */
export interface CheckGroupLocationRow {
  group_id: number;
  name: string;
}

export interface CheckGroupTables {
  check_groups: CheckGroupRow;
  check_group_tags: CheckGroupTagRow;
  check_group_locations: CheckGroupLocationRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends CheckGroupTables {}
}
