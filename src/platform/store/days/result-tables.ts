import { nameOf } from './day-ranges.ts';
import { type DividedTable, taking, vacuumedOften } from './divided-table.ts';

/**
 * The statements that partition results by the day of their storage (PostgreSQL). The key is `created`, which lists,
 * analytics and retention use. The row of the run, which ends once, prevents a second final result; see ADR 39.
 */

const before = 'results_before';

/** The unique indexes that an unpartitioned table needs before it becomes a partition. */
export const keysOfPartition = [
  { name: 'results_before_key', on: '(id, created)' },
  { name: 'results_before_final', on: `(run_id, created) where result_type = 'FINAL'` },
] as const;

export const resultTables: DividedTable = {
  name: 'results',
  before,
  outside: 'results_outside',
  key: 'created',
  dividing: [
    `alter table results rename to ${before}`,
    `alter table ${before} drop constraint results_pkey`,
    `drop index results_one_final`,
    `alter index results_by_check rename to results_before_by_check`,
    `create table results (like ${before} including defaults including storage) partition by range (created)`,
    `alter table results add constraint results_pkey primary key (id, created)`,
    `create unique index results_one_final on results (run_id, created) where result_type = 'FINAL'`,
    `create index results_by_check on results
      (check_id, created, id, result_type, has_errors, has_failures, code, response_time)`,
    `create table results_outside partition of results default with (${vacuumedOften})`,
    `create trigger results_by_address before delete on results
      for each statement execute function refuse_deletion_by_address()`,
  ],
  adding(stretch) {
    const name = nameOf('results', stretch);
    return [
      `create table ${name} (like results including defaults including storage) with (${vacuumedOften})`,
      taking(resultTables, name, stretch),
      `alter table results attach partition ${name} for values from (${stretch.from}) to (${stretch.to})`,
    ];
  },
};

/** Attaches the old table as the partition of everything before an instant; its keys were built beforehand. */
export function takingResultsBefore(until: number): string[] {
  return [
    `alter table ${before} add constraint ${before}_pkey primary key using index results_before_key`,
    `alter table results attach partition ${before} for values from (minvalue) to (${until})`,
    `alter table ${before} drop constraint ${checkOf(until)}`,
  ];
}

/** Name of the constraint with the upper time bound of the old table. */
export function checkOf(until: number): string {
  return `results_until_${until}`;
}

/** Returns the instant in the name of such a constraint. */
export function instantOf(constraint: string): number {
  return Number(/^results_until_(\d+)$/.exec(constraint)?.[1]);
}
