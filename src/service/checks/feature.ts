import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { CheckGroups } from './groups/store.ts';
import { CheckPlans } from './plans/store.ts';
import { CheckStates } from './state/states.ts';
import { Checks } from './store.ts';

export const checks = defineFeature({
  name: 'checks',
  repositories: { checks: Checks, states: CheckStates, groups: CheckGroups, plans: CheckPlans },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof checks> {}
}
