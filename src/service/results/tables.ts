import type { PackedRow } from '@picket/platform/store/details/packed-detail.ts';

type Flag = 0 | 1;

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
  /** `FailureDetails` as JSON; null for passes, and if the agent reported none. */
  failure_details: string | null;
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
  /** Start by the clock of the agent's host, uncorrected; null in results of older agents and if nothing ran. */
  host_started: number | null;
  timing_doubtful: Flag;
  /** When the certificate of the target expires; null if none was seen. */
  certificate_expires: number | null;
  agent_id: string;
  error_messages: string;
  /** JSON: the error groups of its messages. */
  error_group_ids: string;
  detail: string | null;
  /** Whether a detail existed, but the service is configured to drop those of such runs. */
  is_detail_left_out?: boolean;
}

/** A counted result, with the values that analytics tracks. */
export interface CountedResultRow extends ResultRow {
  /** `MeasuredValues` as JSON; null if an older build stored the result. */
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

/** The ClickHouse feed: its name, and when everything sealed had last been fed. */
export interface ResultFeedRow {
  name: string;
  level_at: number;
}

/** How far the sealed results of a check have been fed. */
export interface FedResultRow {
  check_id: string;
  feed: string;
  fed_until: number;
}

/** A result of a run of a test session. */
export interface TestResultRow extends ResultRow {
  test_session_id: string;
}

/** A result that arrived after its lease was lost: kept as evidence, never counted. */
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

/** State of an artifact; its lifecycle is in artifacts/intake.ts. */
export type ArtifactState = 'awaited' | 'stored' | 'refused' | 'withheld' | 'lost';

/** An artifact that a result names. */
export interface ArtifactRow {
  result_id: string;
  /** Position in the list of the result. */
  position: number;
  name: string;
  check_id: string;
  location_id: string;
  content_type: string;
  size_bytes: number | null;
  sha256: string | null;
  state: ArtifactState;
  /** Why it was omitted, in part or entirely, or was lost. */
  reason: string | null;
  /** Why the artifact store did not accept it at the last attempt. */
  trouble: string | null;
  /** How secrets were removed, as JSON. */
  scrub: string | null;
  created: number;
  /** When it was stored completely. */
  stored: number | null;
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
  /** Target of the last run that reported one. */
  target_host: string | null;
  target_address: string | null;
}

/** Newest final result of a check that runs in parallel, per location of its slots. */
export interface LocationStatusRow {
  check_id: string;
  slot_location: string;
  slot_at: number;
  has_failures: Flag;
  has_errors: Flag;
  is_degraded: Flag;
}

/** Similar errors: of one check, or of the test sessions of one project. */
export interface ErrorGroupRow {
  id: string;
  account_id: string;
  kind: 'check' | 'test-session';
  /** Owner of the group: the id of the check or the project; '' for test sessions without a project. */
  owner_id: string;
  error_hash: string;
  raw_message: string | null;
  cleaned_message: string;
  first_seen: number;
  last_seen: number;
  count: number;
  is_archived: Flag;
  /** Archived permanently: recurring errors do not reopen it. */
  is_archived_for_ever: Flag;
  /** JSON: environments of the test sessions where the error was seen. */
  environments: string;
  /** JSON: tests in which it occurred, newest first; null for errors outside of tests. */
  tests: string | null;
}

/** Passes of a check at a location since the last one whose detail was kept; see kept-details.ts. */
export interface DetailCountRow {
  check_id: string;
  location: string;
  passes: number;
  /** Time of that pass. */
  kept: number;
}

/** A code bundle of an account. */
export interface CodeBundleRow {
  account_id: string;
  key: string;
  size_bytes: number;
  created: number;
}

export interface ResultTables {
  code_bundles: CodeBundleRow;
  results: PackedRow<CountedResultRow>;
  test_results: PackedRow<TestResultRow>;
  result_chunks: ResultChunkRow;
  result_columns: ResultColumnRow;
  result_feeds: ResultFeedRow;
  fed_results: FedResultRow;
  stale_results: StaleResultRow;
  artifacts: ArtifactRow;
  statuses: StatusRow;
  location_statuses: LocationStatusRow;
  error_groups: ErrorGroupRow;
  detail_counts: DetailCountRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends ResultTables {}
}
