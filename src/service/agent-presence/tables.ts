/** A session of an agent at a location, with its reported data. */
export interface AgentRow {
  location_id: string;
  agent_id: string;
  session_id: string;
  /** Key of its last call; null if that was before keys were recorded. */
  key_id: string | null;
  version: string;
  platform: string;
  check_types: string;
  /** JSON: backends of its check types, and the reasons why others do not work there. */
  capabilities: string;
  first_seen: number;
  last_seen: number;
  /** When it signed off; null if it has not. */
  left_at: number | null;
}

export interface PresenceTables {
  agents: AgentRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends PresenceTables {}
}
