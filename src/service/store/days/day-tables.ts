/**
 * The statements that make results partitions by the day they were stored on (PostgreSQL). The key is `created`: lists,
 * analytics and retention go by it. What keeps a run from having two final results is the row of the run, which ends
 * once; see ADR 39.
 */

const dayMs = 86_400_000;

/** Results of before there were days. */
export const beforeDays = 'results_before';
/** Results of times that have no partition: of a clock that jumped. */
export const outsideDays = 'results_outside';

/** The unique indexes a table without days needs before it becomes a partition. */
export const keysOfPartition = [
  { name: 'results_before_key', on: '(id, created)' },
  { name: 'results_before_final', on: `(run_id, created) where result_type = 'FINAL'` },
] as const;

const settings = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_limit = 2000`;

/** A stretch of time that has a partition. */
export interface Stretch {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** The beginning of the day of an instant, in UTC. */
export function dayOf(atMs: number): number {
  return Math.floor(atMs / dayMs) * dayMs;
}

/**
 * Stretches to be added so that there is one for today and for some days from then on. Between two that are
 * there, one is as long as there is room.
 */
export function missingStretches(
  present: readonly Stretch[],
  now: number,
  { aheadDays, lengthDays }: { readonly aheadDays: number; readonly lengthDays: number },
): Stretch[] {
  const missing: Stretch[] = [];
  const last = dayOf(now) + aheadDays * dayMs;
  for (let from = dayOf(now); from <= last; ) {
    const day = from;
    const cover = present.find((one) => one.from <= day && day < one.to);
    if (cover) {
      from = cover.to;
      continue;
    }
    const next = Math.min(...present.filter((one) => one.from > day).map((one) => one.from));
    const to = Math.min(from + lengthDays * dayMs, next);
    missing.push({ from, to });
    from = to;
  }
  return missing;
}

/** `results_2026_11_24`. */
export function nameOf({ from }: Stretch): string {
  return `results_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '_')}`;
}

/** Makes the table of a stretch, with what is outside of all days and belongs there. */
export function adding(stretch: Stretch): string[] {
  const name = nameOf(stretch);
  const { from, to } = stretch;
  return [
    `create table ${name} (like results including defaults including storage) with (${settings})`,
    `with moved as (delete from ${outsideDays} where created >= ${from} and created < ${to} returning *)
      insert into ${name} select * from moved`,
    `alter table results attach partition ${name} for values from (${from}) to (${to})`,
  ];
}

/** The table of all days in place of one without, which is `beforeDays` from now on. */
export const partitionedTable = [
  `alter table results rename to ${beforeDays}`,
  `alter table ${beforeDays} drop constraint results_pkey`,
  `drop index results_one_final`,
  `alter index results_by_check rename to results_before_by_check`,
  `create table results (like ${beforeDays} including defaults including storage) partition by range (created)`,
  `alter table results add constraint results_pkey primary key (id, created)`,
  `create unique index results_one_final on results (run_id, created) where result_type = 'FINAL'`,
  `create index results_by_check on results
    (check_id, created, id, result_type, has_errors, has_failures, code, response_time)`,
  `create table ${outsideDays} partition of results default with (${settings})`,
  `create trigger results_by_address before delete on results
    for each statement execute function refuse_deletion_by_address()`,
];

/** Takes the table of before as the partition of everything before an instant; its keys were built before. */
export function takingBefore(until: number): string[] {
  return [
    `alter table ${beforeDays} add constraint ${beforeDays}_pkey primary key using index results_before_key`,
    `alter table results attach partition ${beforeDays} for values from (minvalue) to (${until})`,
    `alter table ${beforeDays} drop constraint ${checkOf(until)}`,
  ];
}

/** The name of the constraint that says so of the table of before. */
export function checkOf(until: number): string {
  return `results_until_${until}`;
}

/** The instant in the name of such a constraint. */
export function instantOf(constraint: string): number {
  return Number(/^results_until_(\d+)$/.exec(constraint)?.[1]);
}
