import type { ComponentImpact } from '@picket/protocol/pages/status-page-component.ts';
import type { Generated } from 'kysely';

type Flag = 0 | 1;

/** A service that status pages show and incidents concern. */
export interface ServiceRow {
  id: string;
  account_id: string;
  name: string;
  created: number;
  updated: number | null;
}

export type IncidentStatus = 'INVESTIGATING' | 'IDENTIFIED' | 'MONITORING' | 'RESOLVED';
export type IncidentSeverity = 'CRITICAL' | 'MAJOR' | 'MEDIUM' | 'MINOR';

/** An incident of services. `last_status`, `started` and `ended` are derived from its updates. */
export interface IncidentRow {
  id: string;
  account_id: string;
  name: string;
  severity: IncidentSeverity;
  /** Check whose alert opened it; null if a user did. */
  check_id: string | null;
  /** Alert that opened it, which prevents duplicates if the event is handled repeatedly; null if a user opened it. */
  trigger_id: string | null;
  /** Rule that opened it, kept after the rule is deleted; null if no rule did. */
  rule_id: string | null;
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

/** A component named for an incident. */
export interface ImpactedComponent {
  readonly componentId: string;
  readonly impact: ComponentImpact;
}

/** A component that an incident affects, and its impact. */
export interface IncidentComponentRow {
  incident_id: string;
  component_id: string;
  position: number;
  impact: ComponentImpact;
}

/** Rules by which failing checks open incidents; see incidents/rules/rule-incidents.ts. */
export interface AutomationRuleRow {
  id: string;
  account_id: string;
  status_page_id: string;
  name: string;
  enabled: Flag;
  definition: string;
  created: number;
  updated: number | null;
}

export interface AutomationRuleComponentRow {
  rule_id: string;
  component_id: string;
  position: number;
  impact: ComponentImpact;
}

/** A failure by a rule until it has recovered: of a check, or of the checks of one cause. */
export interface RuleFailureRow {
  trigger_id: string;
  account_id: string;
  rule_id: string;
  check_id: string;
  /** null while it waits, and after its incident was deleted. */
  incident_id: string | null;
  /** When it may open an incident, in epoch milliseconds; null once it has one. */
  waits_until: number | null;
  created: number;
}

export interface IncidentUpdateRow {
  id: string;
  incident_id: string;
  status: IncidentStatus;
  description: string;
  /** Date that it is shown under and counts from. */
  published: number;
  notify_subscribers: Flag;
  created: number;
}

/** Event to open or resolve an incident; see incidents/trigger.ts. */
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
  incident_components: IncidentComponentRow;
  incident_updates: IncidentUpdateRow;
  automation_rules: AutomationRuleRow;
  automation_rule_tags: { rule_id: string; tag: string };
  automation_rule_components: AutomationRuleComponentRow;
  rule_failures: RuleFailureRow;
  incident_events: Omit<IncidentEventRow, 'position'> & { position: Generated<number> };
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends IncidentTables {}
}
