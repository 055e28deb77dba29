import type { Generated } from 'kysely';

type Flag = 0 | 1;

/** A page that shows checks by their tags. */
export interface DashboardRow {
  id: Generated<number>;
  account_id: string;
  /** The id in paths of the API. */
  dashboard_id: string;
  custom_url: string;
  custom_domain: string | null;
  is_private: Flag;
  definition: string;
  created: number;
  updated: number | null;
}

/** A key that opens a private dashboard. */
export interface DashboardKeyRow {
  id: string;
  dashboard_id: number;
  key_hash: string;
  masked: string;
  created: number;
}

export interface DashboardIncidentRow {
  id: string;
  account_id: string;
  dashboard_id: number;
  name: string;
  impact: 'MAINTENANCE' | 'MAJOR' | 'MINOR';
  started: number;
  stopped: number | null;
  created: number;
  updated: number | null;
}

export interface DashboardIncidentUpdateRow {
  id: string;
  incident_id: string;
  status: IncidentStatus | 'MAINTENANCE';
  description: string;
  created: number;
  updated: number | null;
}

export interface StatusPageRow {
  id: string;
  account_id: string;
  name: string;
  url: string;
  custom_domain: string | null;
  definition: string;
  created: number;
  updated: number | null;
}

/** What status pages show and incidents are about. */
export interface ServiceRow {
  id: string;
  account_id: string;
  name: string;
  created: number;
  updated: number | null;
}

export interface StatusPageCardRow {
  id: string;
  status_page_id: string;
  position: number;
  name: string;
  created: number;
  updated: number | null;
}

export interface StatusPageCardServiceRow {
  card_id: string;
  position: number;
  service_id: string;
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
  /** The alert that opened it, so that it opens one only however often that is told; null when a person did. */
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

export interface SubscriptionRow {
  id: string;
  status_page_id: string;
  type: 'EMAIL';
  address: string;
  status: 'PENDING' | 'VERIFIED';
  /** Ends the subscription without an API key; random. */
  token: string;
  created: number;
  updated: number | null;
}

/** A mail to a subscriber that waits to be sent. */
export interface SubscriberMailRow {
  position: Generated<number>;
  address: string;
  subject: string;
  text: string;
  unsubscribe_url: string;
  tries: number;
  /** When it may be tried next; while one process is at it, when another one may. */
  next_at: number;
  created: number;
}

export interface PageTables {
  dashboards: DashboardRow;
  dashboard_keys: DashboardKeyRow;
  dashboard_incidents: DashboardIncidentRow;
  dashboard_incident_updates: DashboardIncidentUpdateRow;
  status_pages: StatusPageRow;
  services: ServiceRow;
  status_page_cards: StatusPageCardRow;
  status_page_card_services: StatusPageCardServiceRow;
  incidents: IncidentRow;
  incident_services: IncidentServiceRow;
  incident_updates: IncidentUpdateRow;
  status_page_subscriptions: SubscriptionRow;
  subscriber_mails: SubscriberMailRow;
}
