/** Totals of the runs of a check at a location: `Totals` as JSON. See totals.ts. */
interface CheckTotalsRow {
  check_id: string;
  location: string;
  content: string;
}

/** How far the totals of a shard extend: they include every run that had ended by then. */
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
