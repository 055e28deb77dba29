import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { automationRuleRoutes } from '@picket/protocol/pages/automation-rule.ts';
import { incidentRoutes } from '@picket/protocol/pages/incident.ts';
import { automaticIncidents } from './automatic-incidents.ts';
import { IncidentEvents } from './event-store.ts';
import { incidentHandlers } from './routes.ts';
import { RuleFailures } from './rules/failure-store.ts';
import { automationRuleHandlers } from './rules/routes.ts';
import { WaitingFailures } from './rules/rule-incidents.ts';
import { AutomationRules } from './rules/store.ts';
import { Incidents } from './store.ts';
import { IncidentFeed } from './trigger.ts';

const repositories = {
  incidentEvents: IncidentEvents,
  automationRules: AutomationRules,
  ruleFailures: RuleFailures,
  incidents: Incidents,
};

export const incidents: Feature = {
  name: 'incidents',
  repositories,
  routes: [...Object.values(automationRuleRoutes), ...Object.values(incidentRoutes)],
  handlers: (parts) => [...automationRuleHandlers(parts), ...incidentHandlers(parts)],
  jobs: (parts) => [
    {
      ...{ name: 'incident feed', leaderOnly: false, wakesOn: ['alerts'], longestMs: 10_000 },
      work: new IncidentFeed({ ...parts, handler: automaticIncidents(parts) }),
    },
    {
      ...{ name: 'waiting incidents', leaderOnly: false, wakesOn: ['alerts'], longestMs: 30_000 },
      work: new WaitingFailures(parts),
    },
  ],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
