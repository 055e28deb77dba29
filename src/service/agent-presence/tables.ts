/** A session of an agent at a location: what it said of itself, and when. */
export interface AgentRow {
  location_id: string;
  agent_id: string;
  session_id: string;
  /** The key it called with last; null when that was before it was noted. */
  key_id: string | null;
  version: string;
  platform: string;
  check_types: string;
  /** JSON: ways check types found to do their work, and why others do not work there. */
  capabilities: string;
  first_seen: number;
  last_seen: number;
  /** When it said goodbye; null while it has not. */
  left_at: number | null;
}

export interface PresenceTables {
  agents: AgentRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends PresenceTables {}
}
