export interface PrivateLocationRow {
  id: string;
  account_id: string;
  name: string;
  slug_name: string;
  icon: string;
  proxy_url: string | null;
  created: number;
  updated: number | null;
  /** First slot that was missed because the location had no agent; null while it has one. See outages.ts. */
  no_agent_since: number | null;
  /** Since when its agents are outdated; null while they are not, or not for long. See outdated.ts. */
  outdated_since: number | null;
  /** JSON: the settings that the location asks of its agents; null without any. */
  agent_settings: string | null;
}

export interface LocationKeyRow {
  id: string;
  location_id: string;
  key_hash: string;
  masked: string;
  created: number;
  updated: number | null;
}

/** Errors of one kind that agents of a location reported about themselves. */
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

/** A period in which an agent reported its location as unhealthy. */
export interface LocationEventRow {
  id: string;
  location_id: string;
  agent_id: string;
  kind: string;
  evidence: string;
  affected_runs: number;
  started: number;
  ended: number | null;
  /** When the agent last reported it: an agent that dies leaves its events open. */
  told: number;
}

/** Length of the queue of a location at the start of a minute. */
export interface LocationMinuteRow {
  location_id: string;
  minute: number;
  queue_size: number;
  /** Wait of the longest-waiting run, in seconds. */
  oldest_age: number;
}

/** A key that was revoked: agents that still use it are known by it. */
export interface RevokedLocationKeyRow {
  key_hash: string;
  location_id: string;
  masked: string;
  revoked: number;
}

/** An agent that was refused for its key. */
export interface RefusedAgentRow {
  account_id: string;
  /** Empty for an API key of the account, which belongs to no location. */
  location_id: string;
  masked: string;
  /** Empty if unknown. */
  agent_id: string;
  address: string;
  version: string;
  first_tried: number;
  last_tried: number;
  tries: number;
}

export interface LocationTables {
  private_locations: PrivateLocationRow;
  location_keys: LocationKeyRow;
  revoked_location_keys: RevokedLocationKeyRow;
  refused_agents: RefusedAgentRow;
  agent_errors: AgentErrorRow;
  location_events: LocationEventRow;
  location_minutes: LocationMinuteRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends LocationTables {}
}
