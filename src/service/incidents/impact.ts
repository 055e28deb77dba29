import { type ComponentImpact, componentImpacts } from '@picket/protocol/pages/status-page-component.ts';
import type { IncidentSeverity } from './tables.ts';

const severities: Readonly<Record<ComponentImpact, IncidentSeverity>> = {
  UNDER_MAINTENANCE: 'MINOR',
  DEGRADED_PERFORMANCE: 'MEDIUM',
  PARTIAL_OUTAGE: 'MAJOR',
  MAJOR_OUTAGE: 'CRITICAL',
};

/** The worst of several impacts; undefined if the list is empty. */
export function worstImpact(impacts: readonly ComponentImpact[]): ComponentImpact | undefined {
  return componentImpacts.findLast((impact) => impacts.includes(impact));
}

/** Severity of an incident with this impact on components. */
export function severityOf(impact: ComponentImpact): IncidentSeverity {
  return severities[impact];
}
