import type { Generated } from 'kysely';
import type {
  AlertChannelRow,
  AlertNotificationRow,
  AlertRow,
  AlertStateRow,
  AlertSubscriptionRow,
  IncidentEventRow,
} from '../../alerts/tables.ts';
import type { CheckGroupTables } from '../../checks/groups/tables.ts';
import type { MaintenanceTables } from '../../maintenance/tables.ts';
import type { PageTables } from '../../pages/tables.ts';
import type { SessionTables } from '../../sessions/tables.ts';

/**
 * The rows of the database, as both engines return them. Times are epoch milliseconds, booleans are 0 or 1, JSON is
 * text: identical rows everywhere, parsed in one place (the class of each noun).
 */
type Flag = 0 | 1;

export interface AccountRow {
  id: string;
  name: string;
  /** JSON: settings of checks that use the global ones; null for the defaults. */
  alert_settings: string | null;
  created: number;
}

export const keyRoles = ['ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'] as const;
export type KeyRole = (typeof keyRoles)[number];

export interface ApiKeyRow {
  id: string;
  account_id: string;
  name: string;
  role: KeyRole;
  key_hash: string;
  masked: string;
  created: number;
}

export interface CheckRow {
  id: string;
  account_id: string;
  name: string;
  /** The name in lower case, for searches; databases disagree on what lower case is. */
  name_search: string;
  check_type: string;
  activated: Flag;
  muted: Flag;
  group_id: number | null;
  /** Position within the group; null comes last. */
  group_order: number | null;
  definition: string;
  created: number;
  updated: number | null;
  /** When the next slot is due; null for checks that are not scheduled. */
  next_slot_at: number | null;
  /** Milliseconds between two slots. */
  interval_ms: number;
  run_parallel: Flag;
  /** The URL of the request in lower case, for searches; null for checks without one. */
  url_search: string | null;
}

export interface CheckTagRow {
  check_id: string;
  tag: string;
}

/** Where a check runs, in order: regions and slugs of private locations, which cannot look alike. */
export interface CheckLocationRow {
  check_id: string;
  position: number;
  name: string;
}

export interface PrivateLocationRow {
  id: string;
  account_id: string;
  name: string;
  slug_name: string;
  icon: string;
  proxy_url: string | null;
  created: number;
  updated: number | null;
  /** The first slot that was missed because the location had no agent; null while it has. See location-outages.ts. */
  no_agent_since: number | null;
}

export interface LocationKeyRow {
  id: string;
  location_id: string;
  key_hash: string;
  masked: string;
  created: number;
  updated: number | null;
}

export interface AgentRow {
  location_id: string;
  agent_id: string;
  session_id: string;
  version: string;
  platform: string;
  check_types: string;
  /** JSON: ways check types found to do their work, and why others do not work there. */
  capabilities: string;
  first_seen: number;
  last_seen: number;
}

/** `queued` and `leased` are on their way; the others are terminal. The story is told in ledger.ts. */
export type RunState = 'queued' | 'leased' | 'final' | 'missed' | 'cancelled';

/** Why a slot was missed. */
export type MissedReason =
  | 'no-agent'
  | 'over-capacity'
  | 'expired'
  | 'agent-lost'
  | 'unsupported'
  | 'service-away'
  | 'paused-by-maintenance';

export interface RunRow {
  id: string;
  account_id: string;
  check_id: string;
  check_type: string;
  lane: string;
  /** The private location whose agents take the run; null for data-center regions. */
  location_id: string | null;
  location: string;
  /** The location the slot was for; a retry may run elsewhere. */
  slot_location: string;
  slot_at: number;
  /** How many slots the record stands for: 1, or more when the service was away for several. */
  slot_count: number;
  state: RunState;
  reason: string | null;
  attempt: number;
  /** How long the run may wait in the queue, counted from its slot or from its last return to the queue. */
  freshness_ms: number;
  ready_at: number;
  expires_at: number;
  lease_number: number;
  lease_until: number | null;
  agent_id: string | null;
  session_id: string | null;
  /** The claim of that session the lease was granted to, where the agent numbers its claims. */
  claim_number: number | null;
  /** Leases that ended without a word from the agent, in this attempt. */
  deaths: number;
  /** Start of the first lease of the first attempt: where maxDurationSeconds counts from. */
  first_leased_at: number | null;
  /** The stored result of the last attempt, when there was one. */
  last_result_id: string | null;
  /** The runtime an agent must have to take the run; null for types that use none. */
  runtime_id: string | null;
  sequence_id: string;
  check_run_id: number;
  created: number;
  ended: number | null;
  /** The check session or test session the run belongs to; null for runs of the schedule. */
  check_session_id: string | null;
  test_session_id: string | null;
}

export interface ResultRow {
  id: string;
  run_id: string;
  account_id: string;
  check_id: string;
  check_type: string;
  run_location: string;
  result_type: 'FINAL' | 'ATTEMPT';
  has_failures: Flag;
  has_errors: Flag;
  is_degraded: Flag | null;
  over_max: Flag | null;
  owner: string | null;
  code: string | null;
  message: string | null;
  response_time: number;
  started: number;
  stopped: number;
  created: number;
  attempts: number;
  sequence_id: string;
  check_run_id: number;
  slot_at: number;
  start_delay: number;
  agent_lag: number;
  agent_overhead: number;
  /** The start by the clock of the agent's host, uncorrected; null in results of older agents and where nothing ran. */
  host_started: number | null;
  timing_doubtful: Flag;
  /** When the certificate of the target expires; null where none was seen. */
  certificate_expires: number | null;
  agent_id: string;
  error_messages: string;
  /** JSON: the error groups its messages fell into. */
  error_group_ids: string;
  detail: string | null;
}

/** A result that counts, with what analytics follow of it. */
export interface CountedResultRow extends ResultRow {
  /** `MeasuredValues` as JSON; null where an older build stored the result. */
  measured: string | null;
}

/** Sealed results of a check: those created in [from_ms, to_ms). See result-columns.ts. */
export interface ResultChunkRow {
  check_id: string;
  from_ms: number;
  to_ms: number;
  row_count: number;
}

/** One column of a chunk. */
export interface ResultColumnRow {
  check_id: string;
  name: string;
  from_ms: number;
  content: Uint8Array;
}

/** How long the queue of a location was at the beginning of a minute. */
export interface LocationMinuteRow {
  location_id: string;
  minute: number;
  queue_size: number;
  /** How long the run had waited that waited longest, in seconds. */
  oldest_age: number;
}

/** A result of a run of a test session. */
export interface TestResultRow extends ResultRow {
  test_session_id: string;
}

/** A result that came after its lease was lost: kept as evidence, never counted. */
export interface StaleResultRow {
  id: string;
  run_id: string;
  check_id: string;
  location_id: string;
  lease_number: number;
  agent_id: string;
  session_id: string;
  received: number;
  report: string;
}

/** Where an artifact is on its way; the story is told in artifact-intake.ts. */
export type ArtifactState = 'awaited' | 'stored' | 'refused' | 'withheld' | 'lost';

/** An artifact that a result names. */
export interface ArtifactRow {
  result_id: string;
  /** Its place in the list of the result. */
  position: number;
  name: string;
  check_id: string;
  location_id: string;
  content_type: string;
  size_bytes: number | null;
  sha256: string | null;
  state: ArtifactState;
  reason: string | null;
  /** What was done to remove secrets, as JSON. */
  scrub: string | null;
  created: number;
  /** When it was there in whole. */
  stored: number | null;
}

/** The newest final result of a check that runs in parallel, at each location its slots were for. */
export interface LocationStatusRow {
  check_id: string;
  slot_location: string;
  slot_at: number;
  has_failures: Flag;
  has_errors: Flag;
  is_degraded: Flag;
}

/** A deleted check whose results are still to be removed. */
export interface PurgeRow {
  check_id: string;
  created: number;
}

/** Errors of one kind that agents of a location reported of themselves. */
export interface AgentErrorRow {
  id: string;
  location_id: string;
  fingerprint: string;
  type: string;
  message: string;
  level: string;
  stack: string;
  agent_version: string;
  platform: string;
  runtime: string;
  count: number;
  first_seen: number;
  last_seen: number;
}

/** A time in which an agent found its location sick. */
export interface LocationEventRow {
  id: string;
  location_id: string;
  agent_id: string;
  kind: string;
  evidence: string;
  affected_runs: number;
  started: number;
  ended: number | null;
  /** When the agent last told of it: one that ends without a word leaves its events open. */
  told: number;
}

export interface StatusRow {
  check_id: string;
  account_id: string;
  has_failures: Flag;
  has_errors: Flag;
  is_degraded: Flag;
  longest_run: number | null;
  shortest_run: number | null;
  last_run_location: string;
  last_check_run_id: number;
  last_slot_at: number;
  certificate_expires: number | null;
  created: number;
  updated: number | null;
}

/** A row with a column that the database counts up: not given on insert. */
type Counted<Row, Column extends keyof Row> = Omit<Row, Column> & { [C in Column]: Generated<number> };

export interface Tables extends CheckGroupTables, MaintenanceTables, PageTables, SessionTables {
  accounts: AccountRow;
  api_keys: ApiKeyRow;
  checks: CheckRow;
  check_tags: CheckTagRow;
  check_locations: CheckLocationRow;
  private_locations: PrivateLocationRow;
  location_keys: LocationKeyRow;
  agents: AgentRow;
  runs: RunRow;
  results: CountedResultRow;
  test_results: TestResultRow;
  result_chunks: ResultChunkRow;
  result_columns: ResultColumnRow;
  location_minutes: LocationMinuteRow;
  stale_results: StaleResultRow;
  artifacts: ArtifactRow;
  statuses: StatusRow;
  location_statuses: LocationStatusRow;
  purges: PurgeRow;
  agent_errors: AgentErrorRow;
  location_events: LocationEventRow;
  alert_channels: Counted<AlertChannelRow, 'id'>;
  alert_subscriptions: Counted<AlertSubscriptionRow, 'id'>;
  alert_states: AlertStateRow;
  alerts: AlertRow;
  alert_notifications: Counted<AlertNotificationRow, 'position'>;
  incident_events: Counted<IncidentEventRow, 'position'>;
}
