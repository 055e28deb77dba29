import { queueOrder } from '../schema/ledger-migration.ts';
import { nameOf } from './day-ranges.ts';
import { type DividedTable, taking, vacuumedOften } from './divided-table.ts';

/**
 * The statements that separate runs in progress from ended ones (PostgreSQL). The key is `ended_day`, written by the
 * statement that ends a run: PostgreSQL moves the row from the small table to that of the day. See ADR 42.
 */

const before = 'runs_before';
const live = 'runs_live';
const outside = 'runs_outside';

/** The validated constraint of the old table, which lets it become a partition without a scan. */
export const beforeCheck = { name: 'runs_before_days', condition: 'ended_day < 0' } as const;
/** Keeps `ended_day` of an unpartitioned table within that constraint. */
export const beforeTrigger = 'runs_before_days';

/** Sets the lower bound of the partition of runs in progress. */
function boundingLive(from: string): string[] {
  return [
    `alter table runs detach partition ${live}`,
    `alter table runs attach partition ${live} for values from (${from}) to (1)`,
  ];
}

/** The lookup indexes of ended runs: by id, slot, end, and session. */
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
    `create index ${live}_queue on ${live} (${queueOrder}) where state = 'queued'`,
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

/** Attaches the old table as a separate partition, with its indexes; its constraint was validated beforehand. */
export const takingRunsBefore = [
  ...boundingLive('0'),
  `alter table runs attach partition ${before} for values from (minvalue) to (0)`,
  `alter table ${before} drop constraint ${beforeCheck.name}`,
];

/**
 * Drops the old table once it is empty. The partition of runs in progress takes over its range: a condition that
 * includes older runs then means one table, not two.
 */
export const droppingRunsBefore = [`drop table ${before}`, ...boundingLive('minvalue')];
