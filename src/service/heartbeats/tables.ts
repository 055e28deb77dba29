import type { PingState } from '@picket/checks/heartbeat/spec.ts';

type Flag = 0 | 1;

/** Timer of a check whose target calls in by itself; its lifecycle is in heartbeats.ts of the service. */
export interface HeartbeatRow {
  check_id: string;
  account_id: string;
  ping_token: string;
  period_ms: number;
  grace_ms: number;
  is_active: Flag;
  /** Time of the last ping, or when its absence was last recorded; null before the first ping. */
  last_at: number | null;
  /** When the grace time ends; null while no ping is expected. */
  deadline_at: number | null;
  /** Slot of the newest record: slots of one check are unique. */
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

/** When the timers of heartbeats were last examined: a single row. */
export interface HeartbeatWatchRow {
  id: number;
  looked_at: number;
}

export interface HeartbeatTables {
  heartbeats: HeartbeatRow;
  heartbeat_events: HeartbeatEventRow;
  heartbeat_watch: HeartbeatWatchRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends HeartbeatTables {}
}
