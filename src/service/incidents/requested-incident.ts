import type { TriggerIncident } from '@picket/checks/contract/definition/common-fields.ts';
import type { z } from 'zod';

/** The incident that a check asks for as its own. */
export type OwnIncident = z.output<typeof TriggerIncident>;

/** The incident of a rule that a check fails by; see rules/rule-incidents.ts. */
export interface RuleIncident {
  readonly ruleId: string;
}

/** What a failing check asks for. */
export type RequestedIncident = OwnIncident | RuleIncident;

/** An incident that was asked for and not resolved yet, as the state of the check keeps it. */
export interface TriggeredIncident {
  readonly triggerId: string;
  readonly incident: RequestedIncident;
}

/** What the stored state of a check says of its incidents. Earlier builds knew of one at most. */
export function incidentsIn(stored: {
  readonly incidents?: readonly TriggeredIncident[];
  readonly incident?: TriggeredIncident | null;
}): readonly TriggeredIncident[] {
  return stored.incidents ?? (stored.incident ? [stored.incident] : []);
}
