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
  /** `FailureDetails` as JSON; null for passes, and where the agent reported none. */
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
  /**
   * The start by the clock of the agent's host, uncorrected; null in results of older agents and where
   * nothing ran.
   */
  host_started: number | null;
  timing_doubtful: Flag;
  /** When the certificate of the target expires; null where none was seen. */
  certificate_expires: number | null;
  agent_id: string;
  error_messages: string;
  /** JSON: the error groups its messages fell into. */
  error_group_ids: string;
  detail: string | null;
  /** There was a detail, and the service is set up to leave those of such runs out. */
  is_detail_left_out?: boolean;
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

/** The feed of ClickHouse: its name, and when everything that was sealed had been fed. */
export interface ResultFeedRow {
  name: string;
  level_at: number;
}

/** Up to where the sealed results of a check were fed. */
export interface FedResultRow {
  check_id: string;
  feed: string;
  fed_until: number;
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

/** Where an artifact is on its way; the story is in artifacts/intake.ts. */
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
  /** Why it was left out, in part or wholly, or was lost. */
  reason: string | null;
  /** Why the artifact store did not take it at the last try. */
  trouble: string | null;
  /** What was done to remove secrets, as JSON. */
  scrub: string | null;
  created: number;
  /** When it was there in whole. */
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
  /** Where its last run that says so went. */
  target_host: string | null;
  target_address: string | null;
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

/** Errors that are alike: of one check, or of the test sessions of one project. */
export interface ErrorGroupRow {
  id: string;
  account_id: string;
  kind: 'check' | 'test-session';
  /**
   * What the group belongs to: the id of the check, or of the project; '' for test sessions without a
   * project.
   */
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

/** Passes of a check at a location since the last one whose detail was kept; the story is in kept-details.ts. */
export interface DetailCountRow {
  check_id: string;
  location: string;
  passes: number;
  /** When that was. */
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
