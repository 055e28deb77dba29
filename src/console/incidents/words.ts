import { type Incident, incidentSeverities, incidentStatuses } from '@picket/protocol/pages/incident.ts';
import type { Choice } from '../elements/form.ts';
import { type State, stateBadge } from '../elements/state.ts';
import type { Html } from '../html.ts';

const statusWords = {
  INVESTIGATING: 'Investigating',
  IDENTIFIED: 'Identified',
  MONITORING: 'Monitoring',
  RESOLVED: 'Resolved',
} as const;
const severityWords = { CRITICAL: 'Critical', MAJOR: 'Major', MEDIUM: 'Medium', MINOR: 'Minor' } as const;

export const statusChoices: readonly Choice[] = incidentStatuses.map((value) => ({
  value,
  word: statusWords[value],
}));
export const severityChoices: readonly Choice[] = incidentSeverities.map((value) => ({
  value,
  word: severityWords[value],
}));

export function statusWord(status: Incident['lastUpdateStatus']): string {
  return statusWords[status];
}

/** Shows the state of an incident: resolved, or its severity. */
export function incidentBadge({
  lastUpdateStatus,
  severity,
}: Pick<Incident, 'lastUpdateStatus' | 'severity'>): Html {
  if (lastUpdateStatus === 'RESOLVED') return stateBadge('passed', 'Resolved');
  const state: State = severity === 'CRITICAL' || severity === 'MAJOR' ? 'failed' : 'degraded';
  return stateBadge(state, `${severityWords[severity]}, ${statusWords[lastUpdateStatus].toLowerCase()}`);
}
