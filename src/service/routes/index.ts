import { accountHandlers } from './accounts.ts';
import { agentHandlers } from './agent.ts';
import { agentErrorHandlers } from './agent-errors.ts';
import { agentExaminationHandlers } from './agent-examinations.ts';
import { alertChannelHandlers } from './alert-channels.ts';
import { alertHandlers } from './alerts.ts';
import { analyticsHandlers } from './analytics.ts';
import { artifactHandlers, assetHandlers } from './assets.ts';
import { badgeHandlers } from './badges.ts';
import { checkGroupHandlers } from './check-groups.ts';
import { checkResultHandlers } from './check-results.ts';
import { checkStatusHandlers } from './check-statuses.ts';
import { checkHandlers } from './checks.ts';
import { clientCertificateHandlers } from './client-certificates.ts';
import { codeBundleHandlers } from './code-bundles.ts';
import { dashboardIncidentHandlers } from './dashboard-incidents.ts';
import { dashboardHandlers } from './dashboards.ts';
import { errorGroupHandlers, rootCauseAnalysisHandlers } from './error-groups.ts';
import type { AnyHandler, HandlerDeps } from './handler.ts';
import { heartbeatHandlers } from './heartbeats.ts';
import { incidentHandlers } from './incidents.ts';
import { locationEventHandlers } from './location-events.ts';
import { locationMetricsHandlers } from './location-metrics.ts';
import { locationHandlers } from './locations.ts';
import { maintenanceWindowHandlers } from './maintenance-windows.ts';
import { maintenanceHandlers } from './maintenances.ts';
import { privateLocationHandlers } from './private-locations.ts';
import { publicPageHandlers } from './public-pages.ts';
import { reportingHandlers } from './reporting.ts';
import { runtimeHandlers } from './runtimes.ts';
import { sessionHandlers } from './sessions.ts';
import { snippetHandlers } from './snippets.ts';
import { staticIpHandlers } from './static-ips.ts';
import { statusPageHandlers } from './status-pages.ts';
import { subscriptionHandlers } from './subscriptions.ts';
import { triggerHandlers } from './triggers.ts';
import { variableHandlers } from './variables.ts';

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
    ...maintenanceWindowHandlers(deps),
    ...maintenanceHandlers(deps),
    ...variableHandlers(deps),
    ...snippetHandlers(deps),
    ...clientCertificateHandlers(deps),
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
