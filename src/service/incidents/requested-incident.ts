import type { TriggerIncident } from '@picket/checks/contract/definition/common-fields.ts';
import type { z } from 'zod';

/** An incident that a check requests in its own definition. */
export type OwnIncident = z.output<typeof TriggerIncident.schema>;

/** The incident of an automation rule that matches a failing check; see rules/rule-incidents.ts. */
export interface RuleIncident {
  readonly ruleId: string;
}

/** An incident that a failing check requests. */
export type RequestedIncident = OwnIncident | RuleIncident;

/** A requested incident that is not resolved yet, as stored with the state of the check. */
export interface TriggeredIncident {
  readonly triggerId: string;
  readonly incident: RequestedIncident;
}

/** Incidents in the stored state of a check. Earlier builds stored at most one. */
export function incidentsIn(stored: {
  readonly incidents?: readonly TriggeredIncident[];
  readonly incident?: TriggeredIncident | null;
}): readonly TriggeredIncident[] {
  return stored.incidents ?? (stored.incident ? [stored.incident] : []);
}
