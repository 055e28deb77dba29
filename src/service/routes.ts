import { accountHandlers } from './accounts/routes.ts';
import { alertChannelHandlers } from './alerts/channels/routes.ts';
import { alertHandlers } from './alerts/routes.ts';
import { checkGroupHandlers } from './checks/groups/routes.ts';
import { checkHandlers } from './checks/routes.ts';
import { runtimeHandlers } from './checks/runtimes.ts';
import { heartbeatHandlers } from './heartbeats/routes.ts';
import type { AnyHandler, HandlerDeps } from './http/handler.ts';
import { incidentHandlers } from './incidents/routes.ts';
import { agentErrorHandlers } from './locations/agents/error-routes.ts';
import { agentExaminationHandlers } from './locations/agents/examination-routes.ts';
import { locationEventHandlers } from './locations/event-routes.ts';
import { locationMetricsHandlers } from './locations/metric-routes.ts';
import { locationHandlers } from './locations/public-routes.ts';
import { privateLocationHandlers } from './locations/routes.ts';
import { staticIpHandlers } from './locations/static-ip-routes.ts';
import { maintenanceHandlers } from './maintenance/routes.ts';
import { badgeHandlers } from './pages/badges/routes.ts';
import { dashboardIncidentHandlers } from './pages/dashboards/incident-routes.ts';
import { dashboardHandlers } from './pages/dashboards/routes.ts';
import { publicPageHandlers } from './pages/public-routes.ts';
import { statusPageHandlers } from './pages/routes.ts';
import { subscriptionHandlers } from './pages/subscription-routes.ts';
import { resourceHandlers } from './resources/handlers.ts';
import { analyticsHandlers } from './results/analytics/routes.ts';
import { artifactHandlers, assetHandlers } from './results/artifacts/routes.ts';
import { codeBundleHandlers } from './results/bundles/routes.ts';
import { errorGroupHandlers, rootCauseAnalysisHandlers } from './results/error-groups/routes.ts';
import { reportingHandlers } from './results/report-routes.ts';
import { checkResultHandlers } from './results/routes.ts';
import { checkStatusHandlers } from './results/status-routes.ts';
import { agentHandlers } from './runs/routes.ts';
import { sessionHandlers } from './sessions/routes.ts';
import { triggerHandlers } from './sessions/trigger-routes.ts';

/** The handler of every operation, by operationId. */
export function allHandlers(deps: HandlerDeps): ReadonlyMap<string, AnyHandler> {
  return new Map([
    ...checkHandlers(deps),
    ...checkResultHandlers(deps),
    ...assetHandlers(deps),
    ...checkStatusHandlers(deps),
    ...alertChannelHandlers(deps),
    ...alertHandlers(deps),
    ...heartbeatHandlers(deps),
    ...errorGroupHandlers(deps),
    ...rootCauseAnalysisHandlers(deps),
    ...sessionHandlers(deps),
    ...triggerHandlers(deps),
    ...analyticsHandlers(deps),
    ...privateLocationHandlers(deps),
    ...locationMetricsHandlers(deps),
    ...locationHandlers(),
    ...staticIpHandlers(deps),
    ...dashboardHandlers(deps),
    ...dashboardIncidentHandlers(deps),
    ...statusPageHandlers(deps),
    ...incidentHandlers(deps),
    ...subscriptionHandlers(deps),
    ...publicPageHandlers(deps),
    ...reportingHandlers(deps),
    ...badgeHandlers(deps),
    ...checkGroupHandlers(deps),
    ...resourceHandlers(deps),
    ...maintenanceHandlers(deps),
    ...runtimeHandlers(),
    ...accountHandlers(deps),
    ...agentHandlers(deps),
    ...agentExaminationHandlers(deps),
    ...agentErrorHandlers(deps),
    ...locationEventHandlers(deps),
    ...artifactHandlers(deps),
    ...codeBundleHandlers(deps),
  ]);
}
