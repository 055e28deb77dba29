import type { EventState, JobSignal } from '@picket/checks/heartbeat/spec.ts';

type Flag = 0 | 1;

/** Timer of a check whose target calls in by itself; its lifecycle is in heartbeats.ts of the service. */
export interface HeartbeatRow {
  check_id: string;
  account_id: string;
  ping_token: string;
  /** 0 with a schedule. */
  period_ms: number;
  /** Times at which pings are expected, as JSON; null with a period. */
  schedule: string | null;
  grace_ms: number;
  /** How long a run of the job may take; null: any time. */
  longest_run_ms: number | null;
  is_active: Flag;
  /** Time of the last ping, or when its absence was last recorded; null before the first ping. */
  last_at: number | null;
  /** When the next ping is expected; null before the first ping, and after the last time of a schedule. */
  expected_at: number | null;
  /** When the grace time ends, or a job that started in time must have ended; null while no ping is expected. */
  deadline_at: number | null;
  /** Slot of the newest record: slots of one check are unique. */
  last_slot_at: number;
}

export interface HeartbeatEventRow {
  id: string;
  check_id: string;
  account_id: string;
  state: EventState;
  created: number;
  source: string | null;
  user_agent: string | null;
  /** Signal of the job; null: no ping came, or an older build stored it. */
  signal: JobSignal | null;
  /** Id that the job gave to its run. */
  run_id: string | null;
  exit_code: number | null;
  /** Duration of the run that it ended, in milliseconds; null if unknown. */
  duration_ms: number | null;
  message: string | null;
  /** For events without a result; the body of others is in their result's detail. */
  body: string | null;
  is_body_cut: Flag;
  /** For starts: how many other runs of the job were in progress. */
  other_runs: number | null;
}

/** A run of a job that has started and not ended. */
export interface JobRunRow {
  check_id: string;
  /** Id that the job gave to it; empty without one. */
  run_id: string;
  started_at: number;
  /** When it has to have ended; null: no time limit, or it has already failed for it. */
  deadline_at: number | null;
}

/** When the timers of heartbeats were last examined: a single row. */
export interface HeartbeatWatchRow {
  id: number;
  looked_at: number;
}

export interface HeartbeatTables {
  heartbeats: HeartbeatRow;
  heartbeat_events: HeartbeatEventRow;
  job_runs: JobRunRow;
  heartbeat_watch: HeartbeatWatchRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends HeartbeatTables {}
}
