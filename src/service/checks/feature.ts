import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { locationNeedRoutes } from '@picket/protocol/agent/agent-examination.ts';
import { checkRoutes, typedCheckRoutes } from '@picket/protocol/checks/check.ts';
import { checkGroupRoutes } from '@picket/protocol/checks/check-group.ts';
import { checkPlanRoutes } from '@picket/protocol/checks/check-plan.ts';
import { runtimeRoutes } from '@picket/protocol/checks/runtime.ts';
import { checkGroupHandlers } from './groups/routes.ts';
import { CheckGroups } from './groups/store.ts';
import { locationNeedHandlers } from './needs-routes.ts';
import { checkPlanHandlers } from './plans/routes.ts';
import { CheckPlans } from './plans/store.ts';
import { checkHandlers, runtimeHandlers } from './routes.ts';
import { CheckStates } from './state/states.ts';
import { Checks } from './store.ts';

const repositories = { checks: Checks, states: CheckStates, groups: CheckGroups, plans: CheckPlans };

export const checks: Feature = {
  name: 'checks',
  repositories,
  routes: [
    ...Object.values(checkRoutes),
    ...[...typedCheckRoutes.values()].flatMap((typed) => Object.values(typed)),
    ...Object.values(checkPlanRoutes),
    ...Object.values(checkGroupRoutes),
    ...Object.values(runtimeRoutes),
    ...Object.values(locationNeedRoutes),
  ],
  handlers: (parts) => {
    const deps = { ...parts, reschedule: parts.newRescheduler() };
    return [
      ...checkHandlers(deps),
      ...checkPlanHandlers(deps),
      ...checkGroupHandlers(deps),
      ...runtimeHandlers(),
      ...locationNeedHandlers(deps),
    ];
  },
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
