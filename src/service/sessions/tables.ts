import type { PingState } from '../../checks/heartbeat/spec.ts';

type Flag = 0 | 1;

/** The timer of a check whose target calls in by itself; the story is told in heartbeats.ts of the service. */
export interface HeartbeatRow {
  check_id: string;
  account_id: string;
  ping_token: string;
  period_ms: number;
  grace_ms: number;
  is_active: Flag;
  /** The last ping, or the last time its absence was noted; null before the first ping. */
  last_at: number | null;
  /** When the grace time ends; null while nothing is awaited. */
  deadline_at: number | null;
  /** The slot of the newest record: those of one check are all different. */
  last_slot_at: number;
}

export interface HeartbeatEventRow {
  id: string;
  check_id: string;
  account_id: string;
  state: PingState;
  created: number;
  source: string | null;
  user_agent: string | null;
}

/** When the timers of heartbeats were last looked at: one row. */
export interface HeartbeatWatchRow {
  id: number;
  looked_at: number;
}

/** Errors that are alike: of one check, or of the test sessions of one project. */
export interface ErrorGroupRow {
  id: string;
  account_id: string;
  kind: 'check' | 'test-session';
  /** What the group belongs to: the id of the check, or of the project; '' for test sessions without a project. */
  owner_id: string;
  error_hash: string;
  raw_message: string | null;
  cleaned_message: string;
  first_seen: number;
  last_seen: number;
  count: number;
  is_archived: Flag;
  /** Archived for good: errors that come back leave it so. */
  is_archived_for_ever: Flag;
  /** JSON: the environments of the test sessions where the error was seen. */
  environments: string;
  /** JSON: the tests it occurred in, newest first; null for errors of other things than tests. */
  tests: string | null;
}

/** Checks that somebody asked to be run now: one session for each check. */
export interface CheckSessionRow {
  id: string;
  account_id: string;
  check_id: string;
  run_source: string;
  /** The trigger whose URL was called, where it was one. */
  trigger_id: string | null;
  started: number;
  cancelled: number | null;
}

/** Checks that somebody tries out: their results stay out of statuses, alerts and analytics. */
export interface TestSessionRow {
  id: string;
  account_id: string;
  name: string;
  project_id: string | null;
  run_location: string;
  /** JSON: `{key, value, secret, locked}` each. */
  environment_variables: string;
  /** JSON: the strategy, or null; the column is null where each check's own holds. */
  retry_strategy: string | null;
  /** JSON. */
  metadata: string;
  environment: string | null;
  branch: string | null;
  author: string | null;
  provider: string | null;
  name_search: string;
  started: number;
  cancelled: number | null;
}

/** A URL whose call runs a check, or the checks of a group. */
export interface TriggerRow {
  id: string;
  account_id: string;
  kind: 'check' | 'group';
  /** The id of the check or of the group, as text. */
  target_id: string;
  token: string;
  created: number;
  called: number | null;
  updated: number | null;
}

export interface SessionTables {
  heartbeats: HeartbeatRow;
  heartbeat_events: HeartbeatEventRow;
  heartbeat_watch: HeartbeatWatchRow;
  error_groups: ErrorGroupRow;
  check_sessions: CheckSessionRow;
  test_sessions: TestSessionRow;
  triggers: TriggerRow;
}
