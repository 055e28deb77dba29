import { checkTypes } from '../checks/index.ts';
import { accountRoutes } from './account.ts';
import { agentRoutes } from './agent.ts';
import { agentErrorRoutes } from './agent-error.ts';
import { examinationRoutes } from './agent-examination.ts';
import { alertRoutes } from './alert.ts';
import { alertChannelRoutes } from './alert-channel.ts';
import { analyticsRoutes, typedAnalyticsRoute } from './analytics.ts';
import { artifactRoutes, assetRoutes } from './artifact.ts';
import { badgeRoutes } from './badge.ts';
import { checkRoutes, typedCheckRoutes } from './check.ts';
import { checkGroupRoutes } from './check-group.ts';
import { checkResultRoutes } from './check-result.ts';
import { checkSessionRoutes } from './check-session.ts';
import { checkStatusRoutes } from './check-status.ts';
import { clientCertificateRoutes } from './client-certificate.ts';
import { agentBundleRoutes, codeBundleRoutes } from './code-bundle.ts';
import { dashboardRoutes } from './dashboard.ts';
import { dashboardIncidentRoutes } from './dashboard-incident.ts';
import { errorGroupRoutes, rootCauseAnalysisRoutes } from './error-group.ts';
import { heartbeatRoutes } from './heartbeat.ts';
import { incidentRoutes } from './incident.ts';
import { locationRoutes } from './location.ts';
import { locationEventRoutes } from './location-event.ts';
import { locationMetricsRoutes } from './location-metrics.ts';
import { maintenanceRoutes } from './maintenance.ts';
import { maintenanceWindowRoutes } from './maintenance-window.ts';
import { privateLocationRoutes } from './private-location.ts';
import { publicPageRoutes } from './public-page.ts';
import { reportingRoutes } from './reporting.ts';
import type { Route } from './route.ts';
import { runtimeRoutes } from './runtime.ts';
import { snippetRoutes } from './snippet.ts';
import { staticIpRoutes } from './static-ip.ts';
import { statusPageRoutes } from './status-page.ts';
import { subscriptionRoutes } from './subscription.ts';
import { testSessionRoutes } from './test-session.ts';
import { triggerRoutes } from './trigger.ts';
import { variableRoutes } from './variable.ts';

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
