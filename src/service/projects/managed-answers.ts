import { alertChannelRoutes } from '../../protocol/alerts/alert-channel.ts';
import { checkRoutes, typedCheckRoutes } from '../../protocol/checks/check.ts';
import { checkGroupRoutes } from '../../protocol/checks/check-group.ts';
import { clientCertificateApi } from '../../protocol/checks/client-certificate.ts';
import { snippetApi } from '../../protocol/checks/snippet.ts';
import { variableApi } from '../../protocol/checks/variable.ts';
import type { Route } from '../../protocol/http/route.ts';
import { privateLocationRoutes } from '../../protocol/locations/private-location.ts';
import { automationRuleRoutes } from '../../protocol/pages/automation-rule.ts';
import { dashboardRoutes } from '../../protocol/pages/dashboard.ts';
import { maintenanceWindowApi } from '../../protocol/pages/maintenance-window.ts';
import { statusPageRoutes } from '../../protocol/pages/status-page.ts';
import { statusPageComponentRoutes } from '../../protocol/pages/status-page-component.ts';
import { sloApi } from '../../protocol/results/slo.ts';
import type { AnyHandler } from '../feature/handler.ts';
import type { Store } from '../store/store.ts';
import { type KindName, kinds } from './kinds/index.ts';
import type { Body } from './kinds/kind.ts';

/** Operations that answer with resources, besides those that show and change one. */
const others: Readonly<Record<KindName, readonly Route[]>> = {
  check: [
    ...[checkRoutes.listChecks, checkGroupRoutes.listChecksOfGroup, checkGroupRoutes.getCheckOfGroup],
    ...[...typedCheckRoutes.values()].map(({ update }) => update),
  ],
  'check-group': [checkGroupRoutes.listCheckGroups],
  'alert-channel': [alertChannelRoutes.listAlertChannels],
  'private-location': [privateLocationRoutes.listPrivateLocations],
  'status-page-service': [statusPageRoutes.listServices],
  'status-page': [statusPageRoutes.listStatusPages],
  'status-page-component': [statusPageComponentRoutes.listStatusPageComponents],
  'status-page-automation-rule': [automationRuleRoutes.listAutomationRules],
  'maintenance-window': [maintenanceWindowApi.routes.list],
  dashboard: [dashboardRoutes.listDashboards],
  variable: [variableApi.routes.list],
  snippet: [snippetApi.routes.list],
  'client-certificate': [clientCertificateApi.routes.list],
  slo: [sloApi.routes.list],
};

/**
 * The handlers of all operations; those that show or change what projects manage say the project of each and
 * the name that it has there. Nothing else of an answer differs, so no noun has to know projects.
 */
export function namingProjects(
  handlers: ReadonlyMap<string, AnyHandler>,
  store: Store,
): ReadonlyMap<string, AnyHandler> {
  const naming = new Map(handlers);
  for (const [type, { routes }] of Object.entries(kinds)) {
    for (const { operationId } of [
      routes.get,
      ...(routes.update ? [routes.update] : []),
      ...others[type as KindName],
    ]) {
      const handler = handlers.get(operationId);
      if (!handler) throw new Error(`no handler for ${operationId}`);
      naming.set(operationId, async (call) => {
        const answer = await handler(call);
        return call.caller && 'accountId' in call.caller
          ? named(answer, type as KindName, { store, accountId: call.caller.accountId })
          : answer;
      });
    }
  }
  return naming;
}

async function named(
  answer: unknown,
  type: KindName,
  { store, accountId }: { readonly store: Store; readonly accountId: string },
): Promise<unknown> {
  if (typeof answer !== 'object' || answer === null) return answer;
  const page = answer as { readonly entries?: unknown };
  const isPage = !Array.isArray(answer) && Array.isArray(page.entries);
  const shown = (isPage ? page.entries : [answer].flat()) as Body[];
  const idOf = (one: Body) => String(kinds[type].idOf(one));
  const managed = await store.projects.managedAmong(accountId, type, shown.map(idOf));
  if (managed.size === 0) return answer;
  const all = shown.map((one) => ({ ...one, ...managed.get(idOf(one)) }));
  if (isPage) return { ...page, entries: all };
  return Array.isArray(answer) ? all : all[0];
}
