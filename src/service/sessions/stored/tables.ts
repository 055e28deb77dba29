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
  /** By what name of its own the client that started it follows it; null where none does. */
  suite_id: string | null;
  /** Whether that client wants the logs of its runs. */
  streams_logs: 0 | 1;
  /** 1 as soon as one of its runs has failed or was missed, whatever is removed later. */
  failed: 0 | 1;
  started: number;
  cancelled: number | null;
}

/** A definition that is no check, which a test session runs. Its runs and results have its id for that of a check. */
export interface TestDefinitionRow {
  id: string;
  account_id: string;
  test_session_id: string;
  /** What the caller calls it. */
  logical_id: string;
  check_type: string;
  name: string;
  /** The file it is written in, as the caller names it. */
  source_file: string | null;
  /** JSON. */
  definition: string;
  /** JSON: the settings of its group; null where it has none. */
  group_definition: string | null;
  created: number;
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
  check_sessions: CheckSessionRow;
  test_sessions: TestSessionRow;
  test_definitions: TestDefinitionRow;
  triggers: TriggerRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends SessionTables {}
}
