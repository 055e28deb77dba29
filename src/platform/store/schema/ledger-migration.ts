/**
 * Every change of a run's state writes a new version of its row, and an entry into each index that holds it:
 * the partial ones name the state. So there is no index that another one can stand in for.
 */
export const leanLedger = {
  name: '0061-lean-ledger',
  statements: [
    // The queue's index and that of leases have all runs of a location that are on their way.
    `{postgres} drop index runs_live_by_location`,
    // Unique as before, and in the order of time, which runs_of_schedule was there for.
    `{postgres} create unique index runs_by_slot on runs (check_id, slot_at, slot_location)`,
    `{postgres} alter table runs drop constraint runs_check_id_slot_location_slot_at_key`,
    `{postgres} drop index runs_of_schedule`,
    // One for final results and for all: few results are attempts.
    `drop index results_by_type`,
    `drop index results_by_check`,
    `create index results_by_check on results
      (check_id, created, id, result_type, has_errors, has_failures, code, response_time)`,
    // Room for the next version of a row next to it.
    `{postgres} alter table statuses set (fillfactor = 70)`,
  ],
};

/**
 * What the runs of each check at each location add up to, and up to where runs have been added. No reference to
 * checks: what is added must not wait for who changes a check.
 */
export const checkTotals = {
  name: '0064-check-totals',
  statements: [
    `create table check_totals (
      check_id text not null, location text not null, content {json} not null,
      primary key (check_id, location))`,
    `create table check_total_cursors (
      shard integer primary key, ended bigint not null)`,
  ],
};

/**
 * Details of results as compressed bytes; those that are stored already stay as they are. Bytes that are
 * compressed are not compressed again. And how many passes there were since the last one whose detail was kept,
 * for services that leave some out.
 */
export const packedDetails = {
  name: '0065-packed-details',
  statements: [
    `alter table results add column packed_detail {blob}`,
    `alter table test_results add column packed_detail {blob}`,
    `{postgres} alter table results alter column packed_detail set storage external`,
    `{postgres} alter table test_results alter column packed_detail set storage external`,
    `create table detail_counts (
      check_id text not null, location text not null, passes integer not null, kept bigint not null,
      primary key (check_id, location))`,
  ],
};

/**
 * Which feed of ClickHouse there is, and up to where the sealed results of each check are in it. No reference to
 * checks: rows of those that are gone say what is to be removed there.
 */
export const resultFeed = {
  name: '0069-result-feed',
  statements: [
    `create table result_feeds (name text primary key, level_at bigint not null)`,
    `create table fed_results (check_id text primary key, feed text not null, fed_until bigint not null)`,
  ],
};

/** What a table is vacuumed by: after a fiftieth of it has changed, not a fifth, and without resting on the way. */
const vacuumedOften = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_limit = 2000`;

/**
 * Runs get no room next to their rows: none of their changes is HOT, and the pages of those that ended are used
 * again either way. Rows of the others are changed in columns that no index has.
 */
export const roomForChanges = {
  name: '0066-room-for-changes',
  statements: [
    `{postgres} alter table runs set (${vacuumedOften})`,
    `{postgres} alter table results set (${vacuumedOften})`,
    `{postgres} alter table statuses set (autovacuum_vacuum_cost_limit = 2000)`,
    ...['location_statuses', 'alert_states', 'agents', 'slot_seals', 'check_totals', 'detail_counts'].map(
      (table) => `{postgres} alter table ${table} set (fillfactor = 70)`,
    ),
  ],
};

/**
 * Results become partitions by day, on PostgreSQL: at once where there are none yet, else by a job while the service
 * goes on (store/days). Builds before remove results by where they are in the table, which says nothing any more
 * where there are several: one that still runs meanwhile is kept from it.
 */
export const resultDays = {
  name: '0068-result-days',
  statements: [
    `{postgres} create function refuse_deletion_by_address() returns trigger language plpgsql as $$
      begin
        if current_query() like '%ctid%' then
          raise exception 'results are partitions: the address of a row is that of others, too';
        end if;
        return null;
      end $$`,
  ],
};

/**
 * Runs on their way get a small table of their own, and those that ended partitions by the day of their end, on PostgreSQL:
 * at once where there are none yet, else by a job while the service goes on (store/days). Until then the trigger
 * keeps the day of all runs, by builds old and new, at that of before there were days.
 */
export const runDays = {
  name: '0070-run-days',
  statements: [
    `alter table runs add column ended_day bigint not null default -1`,
    `{postgres} create function keep_before_days() returns trigger language plpgsql as $$
      begin
        new.ended_day := -1;
        return new;
      end $$`,
    `{postgres} create trigger runs_before_days before insert or update on runs
      for each row execute function keep_before_days()`,
  ],
};

/** When an agent said that it stops: from then on it is not there, however short a time ago it called. */
export const agentGoodbyes = {
  name: '0078-agent-goodbyes',
  statements: [`alter table agents add column left_at bigint`],
};

/** Why an artifact store did not take a file at the last try. */
export const artifactTrouble = {
  name: '0084-artifact-trouble',
  statements: [`alter table artifacts add column trouble text`],
};

/** The facts of failures, for programs; their messages are for people. */
export const failureDetails = {
  name: '0085-failure-details',
  statements: [
    `alter table results add column failure_details {json}`,
    `alter table test_results add column failure_details {json}`,
  ],
};
