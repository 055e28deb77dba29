import { checkTypes } from '../checks/index.ts';
import { accountRoutes } from './accounts/account.ts';
import { agentRoutes } from './agent/agent.ts';
import { agentErrorRoutes } from './agent/agent-error.ts';
import { examinationRoutes } from './agent/agent-examination.ts';
import { agentBundleRoutes, codeBundleRoutes } from './agent/code-bundle.ts';
import { alertRoutes } from './alerts/alert.ts';
import { alertChannelRoutes } from './alerts/alert-channel.ts';
import { checkRoutes, typedCheckRoutes } from './checks/check.ts';
import { checkGroupRoutes } from './checks/check-group.ts';
import { checkStatusRoutes } from './checks/check-status.ts';
import { clientCertificateRoutes } from './checks/client-certificate.ts';
import { heartbeatRoutes } from './checks/heartbeat.ts';
import { runtimeRoutes } from './checks/runtime.ts';
import { snippetRoutes } from './checks/snippet.ts';
import { variableRoutes } from './checks/variable.ts';
import type { Route } from './http/route.ts';
import { locationRoutes, staticIpRoutes } from './locations/location.ts';
import { locationEventRoutes } from './locations/location-event.ts';
import { locationMetricsRoutes } from './locations/location-metrics.ts';
import { privateLocationRoutes } from './locations/private-location.ts';
import { badgeRoutes } from './pages/badge.ts';
import { dashboardRoutes } from './pages/dashboard.ts';
import { dashboardIncidentRoutes } from './pages/dashboard-incident.ts';
import { incidentRoutes } from './pages/incident.ts';
import { maintenanceRoutes } from './pages/maintenance.ts';
import { maintenanceWindowRoutes } from './pages/maintenance-window.ts';
import { publicPageRoutes } from './pages/public-page.ts';
import { statusPageRoutes } from './pages/status-page.ts';
import { subscriptionRoutes } from './pages/subscription.ts';
import { analyticsRoutes, typedAnalyticsRoute } from './results/analytics.ts';
import { artifactRoutes, assetRoutes } from './results/artifact.ts';
import { checkResultRoutes } from './results/check-result.ts';
import { errorGroupRoutes, rootCauseAnalysisRoutes } from './results/error-group.ts';
import { reportingRoutes } from './results/reporting.ts';
import { checkSessionRoutes } from './sessions/check-session.ts';
import { testSessionRoutes } from './sessions/test-session.ts';
import { triggerRoutes } from './sessions/trigger.ts';

/** Every operation of the API, in the order of the reference. */
export const allRoutes: readonly Route[] = [
  ...Object.values(checkRoutes),
  ...checkTypes.flatMap((type) => Object.values(typedCheckRoutes(type))),
  ...Object.values(checkResultRoutes),
  ...Object.values(assetRoutes),
  ...Object.values(codeBundleRoutes),
  ...Object.values(checkStatusRoutes),
  ...Object.values(alertChannelRoutes),
  ...Object.values(alertRoutes),
  ...Object.values(heartbeatRoutes),
  ...Object.values(errorGroupRoutes),
  ...Object.values(rootCauseAnalysisRoutes),
  ...Object.values(checkSessionRoutes),
  ...Object.values(testSessionRoutes),
  ...Object.values(triggerRoutes),
  ...Object.values(analyticsRoutes),
  ...checkTypes.map(typedAnalyticsRoute),
  ...Object.values(privateLocationRoutes),
  ...Object.values(locationMetricsRoutes),
  ...Object.values(locationEventRoutes),
  ...Object.values(locationRoutes),
  ...Object.values(staticIpRoutes),
  ...Object.values(dashboardRoutes),
  ...Object.values(dashboardIncidentRoutes),
  ...Object.values(statusPageRoutes),
  ...Object.values(incidentRoutes),
  ...Object.values(subscriptionRoutes),
  ...Object.values(publicPageRoutes),
  ...Object.values(reportingRoutes),
  ...Object.values(badgeRoutes),
  ...Object.values(checkGroupRoutes),
  ...Object.values(maintenanceWindowRoutes),
  ...Object.values(maintenanceRoutes),
  ...Object.values(variableRoutes),
  ...Object.values(snippetRoutes),
  ...Object.values(clientCertificateRoutes),
  ...Object.values(runtimeRoutes),
  ...Object.values(accountRoutes),
  ...Object.values(agentRoutes),
  ...Object.values(examinationRoutes),
  ...Object.values(agentErrorRoutes),
  ...Object.values(artifactRoutes),
  ...Object.values(agentBundleRoutes),
];
