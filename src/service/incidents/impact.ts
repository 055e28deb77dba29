import { type ComponentImpact, componentImpacts } from '@picket/protocol/pages/status-page-component.ts';
import type { IncidentSeverity } from './tables.ts';

const severities: Readonly<Record<ComponentImpact, IncidentSeverity>> = {
  UNDER_MAINTENANCE: 'MINOR',
  DEGRADED_PERFORMANCE: 'MEDIUM',
  PARTIAL_OUTAGE: 'MAJOR',
  MAJOR_OUTAGE: 'CRITICAL',
};

/** The worst of several impacts; undefined without any. */
export function worstImpact(impacts: readonly ComponentImpact[]): ComponentImpact | undefined {
  return componentImpacts.findLast((impact) => impacts.includes(impact));
}

/** How severe an incident is that leaves components like this. */
export function severityOf(impact: ComponentImpact): IncidentSeverity {
  return severities[impact];
}
