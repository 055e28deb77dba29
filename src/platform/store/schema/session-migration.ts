/** Signals of jobs, their runs in progress, and when the next ping is expected. */
export const jobSignals = {
  name: '0091-job-signals',
  statements: [
    `alter table heartbeats add column longest_run_ms bigint`,
    `alter table heartbeats add column expected_at bigint`,
    `update heartbeats set expected_at = last_at + period_ms`,
    `alter table heartbeat_events add column signal text`,
    `alter table heartbeat_events add column run_id text`,
    `alter table heartbeat_events add column exit_code integer`,
    `alter table heartbeat_events add column duration_ms double precision`,
    `alter table heartbeat_events add column message text`,
    `alter table heartbeat_events add column body text`,
    `alter table heartbeat_events add column is_body_cut integer not null default 0`,
    `alter table heartbeat_events add column other_runs integer`,
    `create table job_runs (
      check_id text not null references checks (id) on delete cascade,
      run_id text not null, started_at bigint not null, deadline_at bigint,
      primary key (check_id, run_id))`,
    `create index job_runs_overdue on job_runs (deadline_at) where deadline_at is not null`,
  ],
};

/** Times at which pings are expected, in place of a period. */
export const heartbeatSchedules = {
  name: '0092-heartbeat-schedules',
  statements: [`alter table heartbeats add column schedule text`],
};

/** Slots of checks that do not follow from the last one by adding an interval: hours, another frequency while failing. */
export const plannedSlots = {
  name: '0096-planned-slots',
  statements: [
    ...[
      'planned_at',
      'newest_slot_at',
      'second_slot_at',
      'third_slot_at',
      'newest_fresh_ms',
      'rests_from',
    ].map((column) => `alter table checks add column ${column} bigint`),
    `alter table checks add column slot_number bigint not null default 0`,
    `create index checks_planned on checks (planned_at) where planned_at is not null`,
  ],
};

/** Heartbeats, error groups, and runs outside the schedule: sessions and triggers. */
export const sessionMigrations = [
  {
    name: '0008-heartbeats',
    statements: [
      `create table heartbeats (
        check_id text primary key references checks (id) on delete cascade,
        account_id text not null, ping_token text not null unique,
        period_ms bigint not null, grace_ms bigint not null, is_active integer not null,
        last_at bigint, deadline_at bigint, last_slot_at bigint not null)`,
      `create index heartbeats_overdue on heartbeats (deadline_at) where deadline_at is not null`,
      `create table heartbeat_events (
        id text primary key,
        check_id text not null, account_id text not null,
        state text not null, created bigint not null, source text, user_agent text)`,
      `create index heartbeat_events_by_check on heartbeat_events (check_id, created, id)`,
      `create table heartbeat_watch (id integer primary key, looked_at bigint not null)`,
    ],
  },
  {
    name: '0009-error-groups',
    statements: [
      `alter table results add column error_group_ids {json} not null default '[]'`,
      `create table error_groups (
        id text primary key,
        account_id text not null references accounts (id) on delete cascade,
        kind text not null, owner_id text not null, error_hash text not null,
        raw_message text, cleaned_message text not null,
        first_seen bigint not null, last_seen bigint not null, count bigint not null,
        is_archived integer not null, is_archived_for_ever integer not null, environments {json} not null,
        unique (account_id, kind, owner_id, error_hash))`,
      `create index error_groups_by_account on error_groups (account_id, kind, last_seen, id)`,
      `create index error_groups_by_owner on error_groups (account_id, kind, owner_id, last_seen, id)`,
    ],
  },
  {
    name: '0010-sessions',
    statements: [
      `alter table runs add column check_session_id text`,
      `alter table runs add column test_session_id text`,
      `create index runs_by_check_session on runs (check_session_id) where check_session_id is not null`,
      `create index runs_by_test_session on runs (test_session_id) where test_session_id is not null`,
      `create table check_sessions (
        id text primary key,
        account_id text not null references accounts (id) on delete cascade,
        check_id text not null references checks (id) on delete cascade,
        run_source text not null, trigger_id text, started bigint not null, cancelled bigint)`,
      `create index check_sessions_by_check on check_sessions (check_id)`,
      `create index check_sessions_by_trigger on check_sessions (trigger_id, started)
        where trigger_id is not null`,
      `create table test_sessions (
        id text primary key,
        account_id text not null references accounts (id) on delete cascade,
        name text not null, name_search text not null, project_id text, run_location text not null,
        environment_variables {json} not null, retry_strategy {json}, metadata {json} not null,
        environment text, branch text, author text, provider text,
        started bigint not null, cancelled bigint)`,
      `create index test_sessions_by_account on test_sessions (account_id, started, id)`,
      `create table test_results (
        id text primary key,
        test_session_id text not null,
        run_id text not null,
        account_id text not null, check_id text not null, check_type text not null,
        run_location text not null, result_type text not null,
        has_failures integer not null, has_errors integer not null, is_degraded integer, over_max integer,
        owner text, code text, message text,
        response_time double precision not null,
        started bigint not null, stopped bigint not null, created bigint not null,
        attempts integer not null, sequence_id text not null, check_run_id bigint not null,
        slot_at bigint not null, start_delay double precision not null, agent_lag double precision not null,
        agent_overhead double precision not null, timing_doubtful integer not null, certificate_expires bigint,
        agent_id text not null, error_messages {json} not null, error_group_ids {json} not null, detail {json})`,
      `create unique index test_results_one_final on test_results (run_id) where result_type = 'FINAL'`,
      `create index test_results_by_session on test_results (test_session_id)`,
      `create index test_results_by_check on test_results (check_id)`,
      `create table triggers (
        id text primary key,
        account_id text not null references accounts (id) on delete cascade,
        kind text not null, target_id text not null, token text not null unique,
        created bigint not null, called bigint, updated bigint,
        unique (account_id, kind, target_id))`,
    ],
  },
] as const;

/** Definitions in test sessions that are not checks. */
export const testDefinitions = {
  name: '0055-test-definitions',
  statements: [
    `create table test_definitions (
      id text primary key,
      account_id text not null references accounts (id) on delete cascade,
      test_session_id text not null references test_sessions (id) on delete cascade,
      logical_id text not null, check_type text not null, name text not null,
      definition {json} not null, group_definition {json}, created bigint not null)`,
    `create index test_definitions_by_session on test_definitions (test_session_id)`,
  ],
} as const;

/** Clients follow running test sessions by a separate id; a failed session stays marked as failed. */
export const followedTestSessions = {
  name: '0057-followed-test-sessions',
  statements: [
    `alter table test_sessions add column suite_id text`,
    `alter table test_sessions add column streams_logs integer not null default 0`,
    `alter table test_sessions add column failed integer not null default 0`,
    `update test_sessions set failed = 1 where exists (select 1 from test_results
        where test_results.test_session_id = test_sessions.id and test_results.result_type = 'FINAL'
          and (test_results.has_failures = 1 or test_results.has_errors = 1))
      or exists (select 1 from runs where runs.test_session_id = test_sessions.id and runs.state = 'missed')`,
    `create index test_sessions_by_suite on test_sessions (suite_id) where suite_id is not null`,
    `alter table test_definitions add column source_file text`,
  ],
} as const;
