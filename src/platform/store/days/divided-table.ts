import type { DayRange } from './day-ranges.ts';

/** Description of a table with daily partitions, for their maintenance. */
export interface DividedTable {
  readonly name: 'results' | 'runs';
  /** The table from before partitioning, which is a partition now. */
  readonly before: string;
  /** The default partition, with rows of uncovered times, as from a clock that jumped. */
  readonly outside: string;
  /** The column with the day of a row. */
  readonly key: string;
  /** Replaces the unpartitioned table, renamed to `before` and not yet attached, by a partitioned one. */
  readonly dividing: readonly string[];
  /** Creates the table of a range, including its rows from the default partition. */
  adding(stretch: DayRange): readonly string[];
}

/** Vacuum settings of partitions: after a fiftieth of the rows has changed rather than a fifth, with few pauses. */
export const vacuumedOften = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_limit = 2000`;

/** Moves rows of a range from the default partition into the table about to become its partition. */
export function taking(table: DividedTable, name: string, { from, to }: DayRange): string {
  return `with moved as (delete from ${table.outside} where ${table.key} >= ${from} and ${table.key} < ${to} returning *)
    insert into ${name} select * from moved`;
}
