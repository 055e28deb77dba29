import {
  alertHandling,
  alerting,
  failedTries,
  heldAlerts,
  heldNotifications,
  monitoringGaps,
  receiverIncidents,
} from './alert-migration.ts';
import { analysesByModels, checkPlans, rootCauseAnalyses } from './analysis-migration.ts';
import { storedAnswers } from './answer-migration.ts';
import { auditMigration } from './audit-migration.ts';
import { alertCauses, causeUpdates } from './cause-migration.ts';
import { statusPageComponents } from './component-migration.ts';
import {
  agentGoodbyes,
  agentSettings,
  artifactTrouble,
  checkSlots,
  checkTotals,
  failureDetails,
  leanLedger,
  outdatedAgents,
  packedDetails,
  queueInOrder,
  refusedAgents,
  resultDays,
  resultFeed,
  roomForChanges,
  runDays,
  unfinishedRuns,
} from './ledger-migration.ts';
import { maintenanceOccurrences } from './maintenance-migration.ts';
import { memberMigration, memberOrigins, sharedLimits } from './member-migration.ts';
import { customDomains, pages, statusPageKeys, subscriberMailAccounts } from './page-migration.ts';
import { projects } from './project-migration.ts';
import { accountResources, variableReferences } from './resource-migration.ts';
import {
  followedTestSessions,
  heartbeatSchedules,
  jobSignals,
  plannedSlots,
  sessionMigrations,
  testDefinitions,
} from './session-migration.ts';

/**
 * History of the schema. A released migration is frozen: later changes are new entries at the end. Each runs once, in
 * order, in a transaction together with its record. `{json}` and `{blob}` stand for the engine's column types,
 * `{serial}` for that of an auto-increment primary key, `{instant}` for that of an instant by the database's clock. A
 * statement that begins with `{postgres}` or `{sqlite}` is for that engine only.
 */
export interface Migration {
  readonly name: string;
  readonly statements: readonly string[];
}

export const migrations: readonly Migration[] = [
  {
    name: '0001-initial',
    statements: [
      `create table accounts (id text primary key, name text not null, created bigint not null)`,
      `create table api_keys (
        id text primary key,
        account_id text not null references accounts (id) on delete cascade,
        name text not null, role text not null, key_hash text not null unique, masked text not null,
        created bigint not null)`,
      `create table checks (
        id text primary key,
        account_id text not null references accounts (id) on delete cascade,
        name text not null, name_search text not null, check_type text not null,
        activated integer not null, muted integer not null, group_id bigint,
        definition {json} not null,
        created bigint not null, updated bigint,
        next_slot_at bigint, interval_ms bigint not null,
        run_parallel integer not null, url_search text)`,
      `create index checks_by_account on checks (account_id, created, id)`,
      `create index checks_due on checks (next_slot_at) where next_slot_at is not null`,
      `create index checks_ahead on checks ((next_slot_at - interval_ms)) where next_slot_at is not null`,
      `create table check_tags (
        check_id text not null references checks (id) on delete cascade,
        tag text not null,
        primary key (check_id, tag))`,
      `create index check_tags_by_tag on check_tags (tag)`,
      `create table check_locations (
        check_id text not null references checks (id) on delete cascade,
        position integer not null, name text not null,
        primary key (check_id, position))`,
      `create index check_locations_by_name on check_locations (name)`,
      `create table private_locations (
        id text primary key,
        account_id text not null references accounts (id) on delete cascade,
        name text not null, slug_name text not null, icon text not null, proxy_url text,
        created bigint not null, updated bigint,
        unique (account_id, slug_name))`,
      `create table location_keys (
        id text primary key,
        location_id text not null references private_locations (id) on delete cascade,
        key_hash text not null unique, masked text not null,
        created bigint not null, updated bigint)`,
      `create index location_keys_by_location on location_keys (location_id)`,
      `create table agents (
        location_id text not null references private_locations (id) on delete cascade,
        agent_id text not null, session_id text not null,
        version text not null, platform text not null, check_types {json} not null,
        first_seen bigint not null, last_seen bigint not null,
        primary key (location_id, agent_id, session_id))`,
      `create table runs (
        id text primary key,
        account_id text not null, check_id text not null, check_type text not null, lane text not null,
        location_id text, location text not null, slot_location text not null,
        slot_at bigint not null, slot_count integer not null,
        state text not null, reason text,
        attempt integer not null, freshness_ms bigint not null,
        ready_at bigint not null, expires_at bigint not null,
        lease_number integer not null, lease_until bigint, agent_id text, session_id text,
        deaths integer not null, first_leased_at bigint, last_result_id text,
        sequence_id text not null, check_run_id bigint not null,
        created bigint not null, ended bigint,
        unique (check_id, slot_location, slot_at))`,
      `create index runs_queue on runs (location_id, lane, slot_at) where state = 'queued'`,
      `create index runs_queue_end on runs (expires_at) where state = 'queued'`,
      `create index runs_live_by_check on runs (check_id) where state in ('queued', 'leased')`,
      `create index runs_live_by_location on runs (location_id) where state in ('queued', 'leased')`,
      `create index runs_lease_end on runs (lease_until) where state = 'leased'`,
      `create table results (
        id text primary key,
        run_id text not null,
        account_id text not null, check_id text not null, check_type text not null,
        run_location text not null, result_type text not null,
        has_failures integer not null, has_errors integer not null, is_degraded integer, over_max integer,
        owner text, code text, message text,
        response_time double precision not null,
        started bigint not null, stopped bigint not null, created bigint not null,
        attempts integer not null, sequence_id text not null, check_run_id bigint not null,
        slot_at bigint not null, start_delay double precision not null, agent_lag double precision not null,
        agent_id text not null, error_messages {json} not null, detail {json})`,
      `create unique index results_one_final on results (run_id) where result_type = 'FINAL'`,
      `create index results_by_check on results (check_id, created, id)`,
      `create index results_by_type on results (check_id, result_type, created, id)`,
      `create table stale_results (
        id text primary key,
        run_id text not null, check_id text not null, location_id text not null, lease_number integer not null,
        agent_id text not null, session_id text not null,
        received bigint not null, report {json} not null)`,
      `create index stale_results_by_check on stale_results (check_id)`,
      `create table purges (check_id text primary key, created bigint not null)`,
      `create table statuses (
        check_id text primary key,
        account_id text not null,
        has_failures integer not null, has_errors integer not null, is_degraded integer not null,
        longest_run double precision, shortest_run double precision,
        last_run_location text not null, last_check_run_id bigint not null, last_slot_at bigint not null,
        ssl_days_remaining integer,
        created bigint not null, updated bigint)`,
      `create index statuses_by_account on statuses (account_id)`,
      `create table location_statuses (
        check_id text not null, slot_location text not null, slot_at bigint not null,
        has_failures integer not null, has_errors integer not null, is_degraded integer not null,
        primary key (check_id, slot_location))`,
    ],
  },
  {
    name: '0002-agent-errors',
    statements: [
      `create table agent_errors (
        id text primary key,
        location_id text not null references private_locations (id) on delete cascade,
        fingerprint text not null,
        type text not null, message text not null, level text not null, stack {json} not null,
        agent_version text not null, platform text not null, runtime text not null,
        count integer not null, first_seen bigint not null, last_seen bigint not null,
        unique (location_id, fingerprint))`,
      `create index agent_errors_by_location on agent_errors (location_id, last_seen, id)`,
    ],
  },
  {
    name: '0003-agent-facts',
    statements: [
      `alter table agents add column capabilities {json} not null default '{}'`,
      `alter table results add column agent_overhead double precision not null default 0`,
      `alter table results add column timing_doubtful integer not null default 0`,
      `alter table results add column certificate_expires bigint`,
      // The remaining days are computed on request; the column was never written.
      `alter table statuses drop column ssl_days_remaining`,
      `alter table statuses add column certificate_expires bigint`,
    ],
  },
  {
    name: '0004-artifacts',
    statements: [
      `create table artifacts (
        result_id text not null, position integer not null, name text not null,
        check_id text not null, location_id text not null,
        content_type text not null, size_bytes bigint, sha256 text,
        state text not null, reason text, scrub {json},
        created bigint not null, stored bigint,
        primary key (result_id, position))`,
      `create index artifacts_by_check on artifacts (check_id)`,
      `create index artifacts_awaited on artifacts (created) where state = 'awaited'`,
    ],
  },
  accountResources,
  alerting,
  pages,
  ...sessionMigrations,
  {
    name: '0011-runtimes-of-runs',
    statements: [`alter table runs add column runtime_id text`],
  },
  {
    name: '0012-analytics',
    statements: [
      `alter table results add column measured text`,
      `create table result_chunks (
        check_id text not null, from_ms bigint not null, to_ms bigint not null, row_count integer not null,
        primary key (check_id, from_ms))`,
      `create table result_columns (
        check_id text not null, name text not null, from_ms bigint not null, content {blob} not null,
        primary key (check_id, name, from_ms))`,
      `create table location_minutes (
        location_id text not null references private_locations (id) on delete cascade,
        minute bigint not null, queue_size integer not null, oldest_age double precision not null,
        primary key (location_id, minute))`,
      `create index location_minutes_by_minute on location_minutes (minute)`,
      `create index runs_by_end on runs (ended) where ended is not null`,
      `create index stale_results_by_time on stale_results (received)`,
      `create index artifacts_by_time on artifacts (created) where state = 'stored'`,
      `create index check_sessions_by_time on check_sessions (started)`,
      `create index test_sessions_by_time on test_sessions (started)`,
      `create index alerts_by_time on alerts (created) where alert_type <> 'ALERT_SSL'`,
    ],
  },
  {
    name: '0014-leaderships',
    statements: [
      // PostgreSQL only: on SQLite there is one process.
      `create table leaderships (
        name text primary key, holder text not null, backend_pid integer not null, held_until {instant} not null)`,
    ],
  },
  {
    name: '0015-location-outages',
    statements: [`alter table private_locations add column no_agent_since bigint`],
  },
  {
    name: '0018-location-events',
    statements: [
      `create table location_events (
        id text primary key,
        location_id text not null references private_locations (id) on delete cascade,
        agent_id text not null, kind text not null, evidence text not null, affected_runs integer not null,
        started bigint not null, ended bigint, told bigint not null)`,
      `create index location_events_by_location on location_events (location_id, started, id)`,
    ],
  },
  {
    name: '0019-claims-of-leases',
    statements: [
      `alter table runs add column claim_number bigint`,
      `alter table results add column host_started bigint`,
      `alter table test_results add column host_started bigint`,
    ],
  },
  maintenanceOccurrences,
  {
    name: '0021-error-groups-by-age',
    statements: [
      `create index error_groups_by_time on error_groups (last_seen) where is_archived_for_ever = 0`,
    ],
  },
  {
    name: '0022-tests-of-error-groups',
    statements: [`alter table error_groups add column tests text`],
  },
  {
    name: '0023-clock-marks',
    statements: [`create table clock_marks (name text primary key, at bigint not null)`],
  },
  {
    name: '0024-secret-keys',
    // Ids of the keys that seal the secrets of this database; never a key itself.
    statements: [`create table secret_keys (key_id text primary key)`],
  },
  {
    name: '0025-migration-checksums',
    statements: [`alter table schema_migrations add column checksum text`],
  },
  {
    name: '0026-code-bundles',
    // Earlier uploads count when they are uploaded again.
    statements: [
      `create table code_bundles (
        account_id text not null references accounts (id) on delete cascade,
        key text not null, size_bytes bigint not null, created bigint not null,
        primary key (account_id, key))`,
    ],
  },
  {
    name: '0027-reports-from-an-index',
    // A covering index for reports, which then need not read the large results.
    statements: [
      `drop index results_by_type`,
      `create index results_by_type on results
        (check_id, result_type, created, id, has_errors, has_failures, code, response_time)`,
    ],
  },
  {
    name: '0028-keys-of-agents',
    statements: [`alter table agents add column key_id text`],
  },
  {
    name: '0029-login-sessions',
    statements: [
      `create table login_sessions (
        id text primary key, kind text not null, token_hash text not null unique,
        account_id text not null references accounts (id) on delete cascade,
        key_id text not null references api_keys (id) on delete cascade,
        created bigint not null, last_seen bigint not null, expires bigint not null)`,
      `create index login_sessions_by_account on login_sessions (account_id, last_seen)`,
      `create index login_sessions_by_key on login_sessions (key_id)`,
      `create index login_sessions_by_expiry on login_sessions (expires)`,
    ],
  },
  {
    name: '0030-runs-of-schedule',
    statements: [
      `create index runs_of_schedule on runs (check_id, slot_at)
        where check_session_id is null and test_session_id is null`,
    ],
  },
  {
    name: '0031-coverage',
    statements: [
      `alter table runs add column slot_interval_ms bigint`,
      `create table slot_seals (check_id text primary key, until_ms bigint not null)`,
      `create table slot_days (
        check_id text not null, day_ms bigint not null, content {blob} not null,
        primary key (check_id, day_ms))`,
    ],
  },
  alertHandling,
  {
    name: '0033-parts-of-notifications',
    statements: [
      `alter table alert_notifications add column sent integer not null default 0`,
      `alter table alert_notifications add column refused text`,
    ],
  },
  monitoringGaps,
  alertCauses,
  heldAlerts,
  heldNotifications,
  testDefinitions,
  auditMigration,
  memberMigration,
  projects,
  followedTestSessions,
  failedTries,
  statusPageKeys,
  statusPageComponents,
  leanLedger,
  rootCauseAnalyses,
  checkPlans,
  checkTotals,
  packedDetails,
  roomForChanges,
  analysesByModels,
  resultDays,
  resultFeed,
  runDays,
  customDomains,
  memberOrigins,
  storedAnswers,
  agentGoodbyes,
  receiverIncidents,
  causeUpdates,
  subscriberMailAccounts,
  sharedLimits,
  artifactTrouble,
  failureDetails,
  refusedAgents,
  variableReferences,
  agentSettings,
  jobSignals,
  heartbeatSchedules,
  plannedSlots,
  queueInOrder,
  outdatedAgents,
  unfinishedRuns,
  checkSlots,
];
