import type { DayRange } from './day-ranges.ts';

/** What the maintenance of partitions has to know of a table that has one for each day. */
export interface DividedTable {
  readonly name: 'results' | 'runs';
  /** Rows of before there were days: a table that is a partition now. */
  readonly before: string;
  /** Rows of times that have no partition: of a clock that jumped. */
  readonly outside: string;
  /** The column that says the day of a row. */
  readonly key: string;
  /** Puts a partitioned table in place of the one without days, which is called `before` from then on and belongs to nothing yet. */
  readonly dividing: readonly string[];
  /** Makes the table of a stretch, with what is outside of all days and belongs there. */
  adding(stretch: DayRange): readonly string[];
}

/** How partitions are vacuumed: after a fiftieth of one has changed, not a fifth, and without resting on the way. */
export const vacuumedOften = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_limit = 2000`;

/** Moves what is outside of all days into a table that is about to become the partition of a stretch. */
export function taking(table: DividedTable, name: string, { from, to }: DayRange): string {
  return `with moved as (delete from ${table.outside} where ${table.key} >= ${from} and ${table.key} < ${to} returning *)
    insert into ${name} select * from moved`;
}
