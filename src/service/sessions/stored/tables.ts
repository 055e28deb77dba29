/** A request to run a check now: one session for each check. */
export interface CheckSessionRow {
  id: string;
  account_id: string;
  check_id: string;
  run_source: string;
  /** Trigger whose URL was called, if any. */
  trigger_id: string | null;
  started: number;
  cancelled: number | null;
}

/** A test run of checks: its results are excluded from statuses, alerts and analytics. */
export interface TestSessionRow {
  id: string;
  account_id: string;
  name: string;
  project_id: string | null;
  run_location: string;
  /** JSON: `{key, value, secret, locked}` each. */
  environment_variables: string;
  /** JSON: the strategy, or null; the column is null if each check's own strategy applies. */
  retry_strategy: string | null;
  /** JSON. */
  metadata: string;
  environment: string | null;
  branch: string | null;
  author: string | null;
  provider: string | null;
  name_search: string;
  /** Id under which the client that started it follows it; null if none does. */
  suite_id: string | null;
  /** Whether that client requested the logs of its runs. */
  streams_logs: 0 | 1;
  /** 1 as soon as one of its runs has failed or was missed, even if they are deleted later. */
  failed: 0 | 1;
  started: number;
  cancelled: number | null;
}

/** A definition that is not a check, run by a test session. Its runs and results use its id as the id of a check. */
export interface TestDefinitionRow {
  id: string;
  account_id: string;
  test_session_id: string;
  /** Name given by the caller. */
  logical_id: string;
  check_type: string;
  name: string;
  /** Source file of the definition, as named by the caller. */
  source_file: string | null;
  /** JSON. */
  definition: string;
  /** JSON: settings of its group; null if it has none. */
  group_definition: string | null;
  created: number;
}

/** A URL that, when called, runs a check, or the checks of a group. */
export interface TriggerRow {
  id: string;
  account_id: string;
  kind: 'check' | 'group';
  /** Id of the check or group, as text. */
  target_id: string;
  token: string;
  created: number;
  called: number | null;
  updated: number | null;
}

export interface SessionTables {
  check_sessions: CheckSessionRow;
  test_sessions: TestSessionRow;
  test_definitions: TestDefinitionRow;
  triggers: TriggerRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends SessionTables {}
}
