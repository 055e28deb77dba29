/**
 * Every change of a run's state writes a new version of its row, and an entry into each index that contains it; the
 * partial ones depend on the state. So there is no redundant index.
 */
export const leanLedger = {
  name: '0061-lean-ledger',
  statements: [
    // The indexes of the queue and of leases contain all runs of a location in progress.
    `{postgres} drop index runs_live_by_location`,
    // Unique as before, and in the order of time, which replaces runs_of_schedule.
    `{postgres} create unique index runs_by_slot on runs (check_id, slot_at, slot_location)`,
    `{postgres} alter table runs drop constraint runs_check_id_slot_location_slot_at_key`,
    `{postgres} drop index runs_of_schedule`,
    // One index for final results and for all: few results are attempts.
    `drop index results_by_type`,
    `drop index results_by_check`,
    `create index results_by_check on results
      (check_id, created, id, result_type, has_errors, has_failures, code, response_time)`,
    // Room for the next version of a row next to it.
    `{postgres} alter table statuses set (fillfactor = 70)`,
  ],
};

/**
 * Totals of the runs of each check at each location, and the time up to which they are complete. No reference to
 * checks: additions must not wait for changes of a check.
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
 * Details of results as compressed bytes, which PostgreSQL does not compress again; existing details stay unchanged.
 * Also the number of passes since the last one whose detail was kept, for services that omit some.
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
 * The ClickHouse feed, and the time up to which it contains the sealed results of each check. No reference to checks:
 * rows of deleted checks show what to delete there.
 */
export const resultFeed = {
  name: '0069-result-feed',
  statements: [
    `create table result_feeds (name text primary key, level_at bigint not null)`,
    `create table fed_results (check_id text primary key, feed text not null, fed_until bigint not null)`,
  ],
};

/** Vacuum settings: after a fiftieth of the rows has changed rather than a fifth, with few pauses. */
const vacuumedOften = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_limit = 2000`;

/**
 * Runs get no free space next to their rows: none of their changes is HOT, and vacuum reuses the pages of ended runs
 * anyway. The other tables change columns that no index contains.
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
 * Daily partitions of results on PostgreSQL: at once for an empty table, else by a job while the service runs
 * (store/days). Older builds delete results by their physical address, which is ambiguous across partitions: the
 * trigger refuses this to builds that still run.
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
 * On PostgreSQL, a small table for runs in progress and daily partitions for ended ones: at once for an empty table,
 * else by a job while the service runs (store/days). Until then the trigger keeps the day of all runs, by builds old
 * and new, at the value from before partitioning.
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

/** When an agent announced its stop: from then on it counts as absent, however recently it called. */
export const agentGoodbyes = {
  name: '0078-agent-goodbyes',
  statements: [`alter table agents add column left_at bigint`],
};

/** Reason why an artifact store refused a file at the last attempt. */
export const artifactTrouble = {
  name: '0084-artifact-trouble',
  statements: [`alter table artifacts add column trouble text`],
};

/** The settings that a location asks of its agents. */
export const agentSettings = {
  name: '0095-agent-settings',
  statements: [`alter table private_locations add column agent_settings text`],
};

/** Since when agents of a location are outdated, once its channels were notified of it. */
export const outdatedAgents = {
  name: '0101-outdated-agents',
  statements: [`alter table private_locations add column outdated_since bigint`],
};

/** Agents that were refused, and the revoked keys by which their locations are known. */
export const refusedAgents = {
  name: '0088-refused-agents',
  statements: [
    `create table revoked_location_keys (
      key_hash text primary key,
      location_id text not null references private_locations (id) on delete cascade,
      masked text not null, revoked bigint not null)`,
    `create index revoked_location_keys_by_location on revoked_location_keys (location_id)`,
    `create table refused_agents (
      account_id text not null references accounts (id) on delete cascade,
      location_id text not null, masked text not null, agent_id text not null, address text not null,
      version text not null, first_tried bigint not null, last_tried bigint not null, tries integer not null,
      primary key (account_id, location_id, masked, agent_id, address))`,
  ],
};

/** Columns of the queue as of 0098. Its expression is the one by which claims sort (service/runs/lease-store.ts). */
export const queueOrder = 'location_id, lane, (expires_at - freshness_ms > ready_at + 60000), slot_at';

/**
 * The queue in the order of claims, and due checks by part of the schedule: both are read from the front of an index,
 * whatever waits behind it and however old the statistics of the tables are. Statements of the previous build use the
 * same indexes by their first columns. A table of runs from before partitioning keeps its index.
 */
export const queueInOrder = {
  name: '0098-queue-in-order',
  statements: [
    // In the order in which a turn of the scheduler locks them.
    // Not partial, and analyzed: PostgreSQL knows the size of a part by the statistics of whole indexes only.
    `{postgres} create index checks_due_of_part on checks ((abs(hashtext(id) % 12)), next_slot_at)`,
    `{postgres} drop index checks_due`,
    `{postgres} analyze checks`,
    `{postgres} do $$ begin
      if to_regclass('runs_live') is not null then
        drop index runs_live_queue;
        create index runs_live_queue on runs_live (${queueOrder}) where state = 'queued';
      end if;
    end $$`,
    `{sqlite} drop index runs_queue`,
    `{sqlite} create index runs_queue on runs (${queueOrder}) where state = 'queued'`,
  ],
};

/** Facts of failures, for programs; their messages are for people. */
export const failureDetails = {
  name: '0085-failure-details',
  statements: [
    `alter table results add column failure_details {json}`,
    `alter table test_results add column failure_details {json}`,
  ],
};

/**
 * SQLite changes every index whose condition names a changed column. This one names the end of a run, not its state, so
 * claims and retries leave it alone; it serves questions about a location, too, whose unfinished runs are few.
 */
export const unfinishedRuns = {
  name: '0102-unfinished-runs',
  statements: [
    `{sqlite} create index runs_unfinished on runs (check_id) where ended is null`,
    `{sqlite} drop index runs_live_by_check`,
    `{sqlite} drop index runs_live_by_location`,
  ],
};

const slotsOf = (row: string) =>
  `${row}id, ${row}next_slot_at, ${row}interval_ms, case when ${row}planned_at is null then 1 else 0 end`;

/**
 * Next slots in a narrow table of their own (ADR 54): a turn of the scheduler wrote a new version of the row of each
 * check, with its definition, and an entry into each of its indexes.
 *
 * A change of a check, or a new one, writes its slot to `checks`, and a trigger copies it. So do the turns of builds
 * that ran before the migration: their slots arrive here, and the slots that this build moves on stay as they were in
 * `checks`. Such a build finds their runs in the ledger and adds none. `checks_due_of_part` and `checks_ahead` are for
 * these builds only.
 */
export const checkSlots = {
  name: '0105-check-slots',
  statements: [
    `create table check_slots (
      check_id text primary key references checks (id) on delete cascade,
      next_slot_at bigint, interval_ms bigint not null, is_plain integer not null)`,
    `{sqlite} drop index checks_due`,
    `{sqlite} drop index checks_ahead`,
    // Room for the next version of each row, while others still see the last one.
    `{postgres} alter table check_slots set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
      autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_limit = 2000)`,
    `{postgres} create function copy_check_slot() returns trigger language plpgsql as $$
      begin
        insert into check_slots (check_id, next_slot_at, interval_ms, is_plain) values (${slotsOf('new.')})
          on conflict (check_id) do update set next_slot_at = excluded.next_slot_at,
            interval_ms = excluded.interval_ms, is_plain = excluded.is_plain;
        return null;
      end $$`,
    // Other processes wait here with changes of checks until the slots are copied.
    `{postgres} create trigger checks_slot after insert or update of next_slot_at, interval_ms, planned_at on checks
      for each row execute function copy_check_slot()`,
    `{sqlite} create trigger checks_slot_of_new after insert on checks begin
      insert into check_slots (check_id, next_slot_at, interval_ms, is_plain) values (${slotsOf('new.')}); end`,
    `{sqlite} create trigger checks_slot after update of next_slot_at, interval_ms, planned_at on checks begin
      update check_slots set (check_id, next_slot_at, interval_ms, is_plain) = (${slotsOf('new.')})
        where check_id = new.id; end`,
    `insert into check_slots (check_id, next_slot_at, interval_ms, is_plain) select ${slotsOf('')} from checks`,
    // Whole and analyzed, as before (0098): PostgreSQL knows the size of a part by the statistics of whole indexes only.
    `{postgres} create index check_slots_due on check_slots ((abs(hashtext(check_id) % 12)), next_slot_at)`,
    `{sqlite} create index check_slots_due on check_slots (next_slot_at) where next_slot_at is not null`,
    `{postgres} analyze check_slots`,
  ],
};
