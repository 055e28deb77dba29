/** What the runs of a check at a location add up to: `Totals` as JSON. See totals.ts. */
interface CheckTotalsRow {
  check_id: string;
  location: string;
  content: string;
}

/** Up to when the totals of a shard of checks are: every run that ended by then is in them. */
export interface TotalsCursorRow {
  shard: number;
  ended: number;
}

export interface CheckMetricsTables {
  check_totals: CheckTotalsRow;
  check_total_cursors: TotalsCursorRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends CheckMetricsTables {}
}
