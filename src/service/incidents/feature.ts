import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { IncidentEvents } from './event-store.ts';
import { RuleFailures } from './rules/failure-store.ts';
import { AutomationRules } from './rules/store.ts';
import { Incidents } from './store.ts';

export const incidents = defineFeature({
  name: 'incidents',
  repositories: {
    incidentEvents: IncidentEvents,
    automationRules: AutomationRules,
    ruleFailures: RuleFailures,
    incidents: Incidents,
  },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof incidents> {}
}
