import type { Generated } from 'kysely';
import type { IncidentStatus } from '../incidents/tables.ts';

type Flag = 0 | 1;

/** A page that shows checks selected by tags. */
export interface DashboardRow {
  id: Generated<number>;
  account_id: string;
  /** Id in API paths. */
  dashboard_id: string;
  custom_url: string;
  custom_domain: string | null;
  is_private: Flag;
  definition: string;
  created: number;
  updated: number | null;
}

/** A key that opens a private page. */
export interface PageKeyRow {
  id: string;
  key_hash: string;
  masked: string;
  created: number;
}

export interface DashboardKeyRow extends PageKeyRow {
  dashboard_id: number;
}

export interface StatusPageKeyRow extends PageKeyRow {
  status_page_id: string;
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
  is_private: Flag;
  /** 2: cards; 3: components. */
  version: 2 | 3;
  definition: string;
  created: number;
  updated: number | null;
}

/** A part of a page of components; parts of a GROUP have it as their parent. */
export interface ComponentRow {
  id: string;
  account_id: string;
  status_page_id: string;
  parent_id: string | null;
  type: 'SERVICE' | 'GROUP';
  name: string;
  description: string | null;
  hidden: Flag;
  display_order: number;
  shows_history: Flag;
  is_expanded: Flag;
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

export interface SubscriptionRow {
  id: string;
  status_page_id: string;
  type: 'EMAIL';
  address: string;
  status: 'PENDING' | 'VERIFIED';
  /** Random; ends the subscription without an API key. */
  token: string;
  created: number;
  updated: number | null;
}

export interface PageTables {
  dashboards: DashboardRow;
  dashboard_keys: DashboardKeyRow;
  dashboard_incidents: DashboardIncidentRow;
  dashboard_incident_updates: DashboardIncidentUpdateRow;
  status_pages: StatusPageRow;
  status_page_keys: StatusPageKeyRow;
  status_page_components: ComponentRow;
  status_page_cards: StatusPageCardRow;
  status_page_card_services: StatusPageCardServiceRow;
  status_page_subscriptions: SubscriptionRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends PageTables {}
}
