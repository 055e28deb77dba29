import { checkTypes } from '../checks/index.ts';
import { accountRoutes } from '../protocol/accounts/account.ts';
import { apiKeyRoutes } from '../protocol/accounts/api-key.ts';
import { auditLogRoutes } from '../protocol/accounts/audit-log.ts';
import { loginSessionRoutes, memberRoutes } from '../protocol/accounts/member.ts';
import { nextAccountRoutes } from '../protocol/accounts/next-account.ts';
import { agentRoutes } from '../protocol/agent/agent.ts';
import { agentErrorRoutes } from '../protocol/agent/agent-error.ts';
import { examinationRoutes, locationNeedRoutes } from '../protocol/agent/agent-examination.ts';
import { agentBundleRoutes, clientStorageRoutes, codeBundleRoutes } from '../protocol/agent/code-bundle.ts';
import { alertRoutes } from '../protocol/alerts/alert.ts';
import { alertCauseRoutes } from '../protocol/alerts/alert-cause.ts';
import { alertChannelRoutes } from '../protocol/alerts/alert-channel.ts';
import { alertHandlingRoutes } from '../protocol/alerts/alert-handling.ts';
import { monitoringGapRoutes } from '../protocol/alerts/monitoring-gap.ts';
import { checkRoutes, typedCheckRoutes } from '../protocol/checks/check.ts';
import { checkGroupRoutes } from '../protocol/checks/check-group.ts';
import { checkPlanRoutes } from '../protocol/checks/check-plan.ts';
import { checkStatusRoutes } from '../protocol/checks/check-status.ts';
import { heartbeatRoutes } from '../protocol/checks/heartbeat.ts';
import { runtimeRoutes } from '../protocol/checks/runtime.ts';
import type { Route } from '../protocol/http/route.ts';
import { locationRoutes, staticIpRoutes } from '../protocol/locations/location.ts';
import { locationEventRoutes } from '../protocol/locations/location-event.ts';
import { locationMetricsRoutes } from '../protocol/locations/location-metrics.ts';
import { privateLocationRoutes } from '../protocol/locations/private-location.ts';
import { mcpRoutes } from '../protocol/mcp/mcp.ts';
import { automationRuleRoutes } from '../protocol/pages/automation-rule.ts';
import { badgeRoutes } from '../protocol/pages/badge.ts';
import { dashboardRoutes } from '../protocol/pages/dashboard.ts';
import { dashboardIncidentRoutes } from '../protocol/pages/dashboard-incident.ts';
import { incidentRoutes } from '../protocol/pages/incident.ts';
import { previewRoutes } from '../protocol/pages/preview.ts';
import { publicPageRoutes } from '../protocol/pages/public-page.ts';
import { statusPageRoutes } from '../protocol/pages/status-page.ts';
import { statusPageComponentRoutes } from '../protocol/pages/status-page-component.ts';
import { subscriptionRoutes } from '../protocol/pages/subscription.ts';
import { projectRoutes } from '../protocol/projects/project.ts';
import { projectImportRoutes } from '../protocol/projects/project-import.ts';
import { analyticsRoutes, typedAnalyticsRoute } from '../protocol/results/analytics.ts';
import { artifactRoutes, assetRoutes } from '../protocol/results/artifact.ts';
import { checkResultRoutes } from '../protocol/results/check-result.ts';
import { errorGroupRoutes } from '../protocol/results/error-group.ts';
import { reportingRoutes } from '../protocol/results/reporting.ts';
import { rootCauseAnalysisRoutes } from '../protocol/results/root-cause-analysis.ts';
import { locationCoverageRoutes } from '../protocol/runs/location-coverage.ts';
import { slotRoutes } from '../protocol/runs/slot.ts';
import { checkSessionRoutes } from '../protocol/sessions/check-session.ts';
import { definitionRunRoutes } from '../protocol/sessions/definition-run.ts';
import { followedSessionRoutes } from '../protocol/sessions/followed-session.ts';
import { testSessionRoutes } from '../protocol/sessions/test-session.ts';
import { triggerRoutes } from '../protocol/sessions/trigger.ts';
import { resourceRoutes } from './resources/index.ts';

/** Every operation of the API, in the order of the reference. */
export const allRoutes: readonly Route[] = [
  ...Object.values(checkRoutes),
  ...[...typedCheckRoutes.values()].flatMap((typed) => Object.values(typed)),
  ...Object.values(checkPlanRoutes),
  ...Object.values(checkResultRoutes),
  ...Object.values(assetRoutes),
  ...Object.values(codeBundleRoutes),
  ...Object.values(clientStorageRoutes),
  ...Object.values(checkStatusRoutes),
  ...Object.values(slotRoutes),
  ...Object.values(locationCoverageRoutes),
  ...Object.values(alertChannelRoutes),
  ...Object.values(alertRoutes),
  ...Object.values(alertHandlingRoutes),
  ...Object.values(monitoringGapRoutes),
  ...Object.values(alertCauseRoutes),
  ...Object.values(heartbeatRoutes),
  ...Object.values(errorGroupRoutes),
  ...Object.values(rootCauseAnalysisRoutes),
  ...Object.values(checkSessionRoutes),
  ...Object.values(definitionRunRoutes),
  ...Object.values(followedSessionRoutes),
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
  ...Object.values(statusPageComponentRoutes),
  ...Object.values(automationRuleRoutes),
  ...Object.values(incidentRoutes),
  ...Object.values(subscriptionRoutes),
  ...Object.values(publicPageRoutes),
  ...Object.values(previewRoutes),
  ...Object.values(reportingRoutes),
  ...Object.values(badgeRoutes),
  ...Object.values(checkGroupRoutes),
  ...resourceRoutes,
  ...Object.values(projectRoutes),
  ...Object.values(projectImportRoutes),
  ...Object.values(runtimeRoutes),
  ...Object.values(accountRoutes),
  ...Object.values(nextAccountRoutes),
  ...Object.values(memberRoutes),
  ...Object.values(loginSessionRoutes),
  ...Object.values(apiKeyRoutes),
  ...Object.values(auditLogRoutes),
  ...Object.values(mcpRoutes),
  ...Object.values(agentRoutes),
  ...Object.values(examinationRoutes),
  ...Object.values(locationNeedRoutes),
  ...Object.values(agentErrorRoutes),
  ...Object.values(artifactRoutes),
  ...Object.values(agentBundleRoutes),
];
