import type { Generated } from 'kysely';

type Flag = 0 | 1;

/** What status pages show and incidents are about. */
export interface ServiceRow {
  id: string;
  account_id: string;
  name: string;
  created: number;
  updated: number | null;
}

export type IncidentStatus = 'INVESTIGATING' | 'IDENTIFIED' | 'MONITORING' | 'RESOLVED';
export type IncidentSeverity = 'CRITICAL' | 'MAJOR' | 'MEDIUM' | 'MINOR';

/** An incident of services. `last_status`, `started` and `ended` follow its updates. */
export interface IncidentRow {
  id: string;
  account_id: string;
  name: string;
  severity: IncidentSeverity;
  /** The check whose alert opened it; null when a person did. */
  check_id: string | null;
  /**
   * The alert that opened it, so that it opens only one however often it is handled; null when a person did.
   */
  trigger_id: string | null;
  last_status: IncidentStatus;
  started: number;
  /** When it was resolved; null while it is open. */
  ended: number | null;
  created: number;
  updated: number | null;
}

export interface IncidentServiceRow {
  incident_id: string;
  service_id: string;
  position: number;
}

export interface IncidentUpdateRow {
  id: string;
  incident_id: string;
  status: IncidentStatus;
  description: string;
  /** The date it is shown under and counts from. */
  published: number;
  notify_subscribers: Flag;
  created: number;
}

/** An incident to be opened or resolved; see incidents/trigger.ts. */
export interface IncidentEventRow {
  position: number;
  trigger_id: string;
  account_id: string;
  check_id: string;
  kind: 'open' | 'resolve';
  definition: string;
  created: number;
}

export interface IncidentTables {
  services: ServiceRow;
  incidents: IncidentRow;
  incident_services: IncidentServiceRow;
  incident_updates: IncidentUpdateRow;
  incident_events: Omit<IncidentEventRow, 'position'> & { position: Generated<number> };
}
