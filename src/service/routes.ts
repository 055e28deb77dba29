import type { FastifyInstance } from 'fastify';
import { apiKeyHandlers } from './accounts/key-routes.ts';
import { accountHandlers, type RetentionDays } from './accounts/routes.ts';
import { alertCauseHandlers } from './alerts/causes/routes.ts';
import { alertChannelHandlers } from './alerts/channels/routes.ts';
import { monitoringGapHandlers } from './alerts/gaps/routes.ts';
import { alertHandlingHandlers } from './alerts/handling/routes.ts';
import { alertHandlers } from './alerts/routes.ts';
import { rootCauseAnalysisHandlers } from './analyses/routes.ts';
import { auditedHandlers } from './audit/audited-handlers.ts';
import { auditLogHandlers } from './audit/routes.ts';
import { checkGroupHandlers } from './checks/groups/routes.ts';
import { locationNeedHandlers } from './checks/needs-routes.ts';
import { checkPlanHandlers } from './checks/plans/routes.ts';
import { checkHandlers, runtimeHandlers } from './checks/routes.ts';
import type { CheckDeps } from './checks/writer.ts';
import type { StaticIps } from './config/static-ips.ts';
import { isElsewhere } from './console/artifacts/origin.ts';
import { addConsole } from './console/console.ts';
import { loginSessionHandlers } from './console/login/session-handlers.ts';
import { heartbeatHandlers } from './heartbeats/routes.ts';
import { type AppDeps, buildApp } from './http/app.ts';
import type { AnyHandler } from './http/handler.ts';
import { incidentHandlers } from './incidents/routes.ts';
import { automationRuleHandlers } from './incidents/rules/routes.ts';
import { agentErrorHandlers } from './locations/agents/error-routes.ts';
import { agentExaminationHandlers } from './locations/agents/examination-routes.ts';
import { locationEventHandlers } from './locations/event-routes.ts';
import { locationMetricsHandlers } from './locations/metric-routes.ts';
import { locationHandlers, staticIpHandlers } from './locations/public-routes.ts';
import { privateLocationHandlers } from './locations/routes.ts';
import { maintenanceHandlers } from './maintenance/routes.ts';
import { type McpDeps, mcpHandlers } from './mcp/routes.ts';
import type { Mailing } from './members/mails.ts';
import { memberHandlers } from './members/routes.ts';
import type { SingleSignOn } from './members/single-sign-on.ts';
import { addMetricsRoute, type MetricsRouteDeps } from './metrics/route.ts';
import { badgeHandlers } from './pages/badges/routes.ts';
import { statusPageComponentHandlers } from './pages/components/routes.ts';
import { dashboardIncidentHandlers } from './pages/dashboards/incident-routes.ts';
import { dashboardHandlers } from './pages/dashboards/routes.ts';
import { previewHandlers } from './pages/preview-routes.ts';
import { publicPageHandlers } from './pages/public-routes.ts';
import { statusPageHandlers } from './pages/routes.ts';
import { subscriptionHandlers } from './pages/subscription-routes.ts';
import { projectImportHandlers } from './projects/imports/routes.ts';
import { namingProjects } from './projects/managed-answers.ts';
import type { HandlersOn } from './projects/operations.ts';
import { projectHandlers } from './projects/routes.ts';
import { resourceHandlers } from './resources/handlers.ts';
import type { AnalyticsDeps } from './results/analytics/routes.ts';
import { analyticsHandlers } from './results/analytics/routes.ts';
import { artifactHandlers, assetHandlers } from './results/artifacts/routes.ts';
import { codeBundleHandlers } from './results/bundles/routes.ts';
import { errorGroupHandlers } from './results/error-groups/routes.ts';
import { reportingHandlers } from './results/report-routes.ts';
import { checkResultHandlers } from './results/routes.ts';
import { checkStatusHandlers } from './results/status-routes.ts';
import { allRoutes } from './route-table.ts';
import { rescheduler } from './runs/rescheduling.ts';
import { agentHandlers } from './runs/routes.ts';
import { slotHandlers } from './runs/slot-routes.ts';
import { addLiveResults, isForLiveResults } from './sessions/live/live-results.ts';
import { sessionHandlers } from './sessions/routes.ts';
import { triggerHandlers } from './sessions/triggers/routes.ts';
import { sloHandlers } from './slos/routes.ts';
import { type UnreadableValue, unreadableValues } from './store/stored-json.ts';

/** What all routes together work with. */
export type RouteDeps = Omit<AppDeps, 'handlers' | 'routes'> &
  MetricsRouteDeps &
  Parameters<typeof agentHandlers>[0] &
  Pick<Parameters<typeof alertChannelHandlers>[0], 'channelSettings'> &
  AnalyticsDeps &
  Pick<McpDeps, 'mcp'> & {
    /** Most bytes of code bundles of an account. */
    readonly codeBundleQuotaBytes?: number;
    /** Source addresses of check runs by location. */
    readonly staticIps?: StaticIps;
    readonly retentionDays: RetentionDays;
    /** Sends invitations and links for new passwords; absent without a mail server. */
    readonly mail?: Mailing['mail'];
    readonly singleSignOn?: SingleSignOn | undefined;
    /** After this time a session ends, however much it is used. */
    readonly sessionMaxMs?: number;
    /** How far deployments of this process are, in percent, by id. */
    readonly deploymentProgress?: ReadonlyMap<string, number>;
    /** Whether there are pages for browsers. */
    readonly hasPages?: boolean;
    /** Where files of runs open, apart from the pages. */
    readonly artifactsUrl?: string | undefined;
  };

/** The HTTP API with the handlers of all nouns, the route of the process's metrics, and the pages. */
export async function buildApi(deps: RouteDeps): Promise<FastifyInstance> {
  const handlers = namingProjects(handlersOn(deps)(deps.store), deps.store);
  const { hasPages, artifactsUrl } = deps;
  const refuses = hasPages && artifactsUrl !== undefined ? isElsewhere(artifactsUrl) : undefined;
  const app = await buildApp({
    ...deps,
    routes: allRoutes,
    handlers,
    upgrades: isForLiveResults,
    ...(refuses ? { refuses } : {}),
    onOddAnswer: ({ route, where }) => {
      deps.metrics.countOddStored('answer', route);
      deps.logger.error({ route, where }, 'an answer is outside its schema: it is shown as it is stored');
    },
  });
  reportUnreadable(app, deps);
  addMetricsRoute(app, deps);
  addLiveResults(app, deps);
  if (hasPages) await addConsole(app, { ...deps, handlers });
  return app;
}

/** Counts and logs stored values that cannot be read, while the API is there. */
function reportUnreadable(app: FastifyInstance, { metrics, logger }: RouteDeps): void {
  const report = (message: unknown) => {
    const { column, reason } = message as UnreadableValue;
    metrics.countOddStored('value', column);
    logger.error({ column, reason }, 'a stored value cannot be read: it counts as empty');
  };
  unreadableValues.subscribe(report);
  app.addHook('onClose', async () => void unreadableValues.unsubscribe(report));
}

/** The handlers of all operations, as the API and the pages have them, working on any store. */
export function handlersOn(deps: RouteDeps): HandlersOn {
  return (store) => {
    const handlers = allHandlers({ ...deps, store, reschedule: rescheduler() });
    return auditedHandlers(handlers, allRoutes, { ...deps, store });
  };
}

/** The handler of every operation, by operationId. */
function allHandlers(deps: RouteDeps & CheckDeps): ReadonlyMap<string, AnyHandler> {
  return new Map([
    ...checkHandlers(deps),
    ...checkPlanHandlers(deps),
    ...checkResultHandlers(deps),
    ...assetHandlers(deps),
    ...checkStatusHandlers(deps),
    ...slotHandlers(deps),
    ...alertChannelHandlers(deps),
    ...alertHandlers(deps),
    ...alertHandlingHandlers(deps),
    ...monitoringGapHandlers(deps),
    ...alertCauseHandlers(deps),
    ...heartbeatHandlers(deps),
    ...errorGroupHandlers(deps),
    ...rootCauseAnalysisHandlers(deps),
    ...sessionHandlers(deps),
    ...triggerHandlers(deps),
    ...analyticsHandlers(deps),
    ...privateLocationHandlers(deps),
    ...locationMetricsHandlers(deps),
    ...locationHandlers(),
    ...staticIpHandlers(deps.staticIps),
    ...dashboardHandlers(deps),
    ...dashboardIncidentHandlers(deps),
    ...statusPageHandlers(deps),
    ...statusPageComponentHandlers(deps),
    ...automationRuleHandlers(deps),
    ...incidentHandlers(deps),
    ...subscriptionHandlers(deps),
    ...publicPageHandlers(deps),
    ...previewHandlers(deps),
    ...reportingHandlers(deps),
    ...badgeHandlers(deps),
    ...checkGroupHandlers(deps),
    ...resourceHandlers(deps),
    ...sloHandlers(deps),
    ...projectHandlers({
      ...{ ...deps, handlersOn: handlersOn(deps) },
      progress: deps.deploymentProgress ?? new Map(),
    }),
    ...projectImportHandlers({ ...deps, handlersOn: handlersOn(deps) }),
    ...maintenanceHandlers(deps),
    ...runtimeHandlers(),
    ...accountHandlers(deps),
    ...memberHandlers(deps),
    ...loginSessionHandlers(deps),
    ...apiKeyHandlers(deps),
    ...auditLogHandlers(deps),
    ...mcpHandlers({ ...deps, routes: allRoutes }),
    ...agentHandlers(deps),
    ...agentExaminationHandlers(deps),
    ...locationNeedHandlers(deps),
    ...agentErrorHandlers(deps),
    ...locationEventHandlers(deps),
    ...artifactHandlers(deps),
    ...codeBundleHandlers(deps),
  ]);
}
