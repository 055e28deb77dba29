import { nameOf } from './day-ranges.ts';
import { type DividedTable, taking, vacuumedOften } from './divided-table.ts';

/**
 * The statements that part runs on their way from those that ended (PostgreSQL). The key is `ended_day`, which the
 * statement that ends a run writes with its end: PostgreSQL moves the row from the small table to that of the day.
 * See ADR 42.
 */

const before = 'runs_before';
const live = 'runs_live';
const outside = 'runs_outside';

/** What the table of before is proven to fulfil, so that it is taken as a partition without being read. */
export const beforeCheck = { name: 'runs_before_days', condition: 'ended_day < 0' } as const;
/** Keeps `ended_day` of a table without days at what that condition says. */
export const beforeTrigger = 'runs_before_days';

/** Sets from which value on the table of those on their way has runs. */
function boundingLive(from: string): string[] {
  return [
    `alter table runs detach partition ${live}`,
    `alter table runs attach partition ${live} for values from (${from}) to (1)`,
  ];
}

/** What finds a run that ended: by its id, its slot, its end, or its session. */
function indexesOfEnded(table: string): string[] {
  return [
    `create unique index ${table}_by_id on ${table} (id)`,
    `create unique index ${table}_by_slot on ${table} (check_id, slot_at, slot_location)`,
    `create index ${table}_by_end on ${table} (ended)`,
    ...indexesOfSessions(table),
  ];
}

function indexesOfSessions(table: string): string[] {
  return ['check', 'test'].map(
    (kind) =>
      `create index ${table}_by_${kind}_session on ${table} (${kind}_session_id) where ${kind}_session_id is not null`,
  );
}

export const runTables: DividedTable = {
  name: 'runs',
  before,
  outside,
  key: 'ended_day',
  dividing: [
    `drop trigger ${beforeTrigger} on runs`,
    `alter table runs rename to ${before}`,
    `create table runs (like ${before} including storage) partition by range (ended_day)`,
    `create table ${live} partition of runs for values from (minvalue) to (1) with (autovacuum_vacuum_scale_factor = 0,
      autovacuum_vacuum_threshold = 10000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
      autovacuum_vacuum_cost_limit = 2000)`,
    `create unique index ${live}_by_id on ${live} (id)`,
    `create unique index ${live}_by_slot on ${live} (check_id, slot_at, slot_location)`,
    `create index ${live}_queue on ${live} (location_id, lane, slot_at) where state = 'queued'`,
    `create index ${live}_queue_end on ${live} (expires_at) where state = 'queued'`,
    `create index ${live}_lease_end on ${live} (lease_until) where state = 'leased'`,
    ...indexesOfSessions(live),
    `create table ${outside} partition of runs default with (${vacuumedOften})`,
    ...indexesOfEnded(outside),
  ],
  adding(stretch) {
    const name = nameOf('runs', stretch);
    return [
      `create table ${name} (like runs including storage) with (${vacuumedOften})`,
      ...indexesOfEnded(name),
      taking(runTables, name, stretch),
      `alter table runs attach partition ${name} for values from (${stretch.from}) to (${stretch.to})`,
    ];
  },
};

/** Takes the table of before as a partition of its own, with its indexes; its condition was proven before. */
export const takingRunsBefore = [
  ...boundingLive('0'),
  `alter table runs attach partition ${before} for values from (minvalue) to (0)`,
  `alter table ${before} drop constraint ${beforeCheck.name}`,
];

/**
 * Removes the table of before, once it is empty. Those on their way take its place: a condition that includes runs of before
 * then means one table, not two.
 */
export const droppingRunsBefore = [`drop table ${before}`, ...boundingLive('minvalue')];
