import { z } from 'zod';
import { alertChannelRoutes } from '../../protocol/alerts/alert-channel.ts';
import { checkRoutes } from '../../protocol/checks/check.ts';
import { checkGroupRoutes } from '../../protocol/checks/check-group.ts';
import { clientCertificateApi } from '../../protocol/checks/client-certificate.ts';
import { snippetApi } from '../../protocol/checks/snippet.ts';
import { variableApi } from '../../protocol/checks/variable.ts';
import { cursorPage } from '../../protocol/http/cursor.ts';
import type { Route } from '../../protocol/http/route.ts';
import { privateLocationRoutes } from '../../protocol/locations/private-location.ts';
import { automationRuleRoutes } from '../../protocol/pages/automation-rule.ts';
import { dashboardRoutes } from '../../protocol/pages/dashboard.ts';
import { maintenanceWindowApi } from '../../protocol/pages/maintenance-window.ts';
import { statusPageRoutes } from '../../protocol/pages/status-page.ts';
import { statusPageComponentRoutes } from '../../protocol/pages/status-page-component.ts';
import { sloApi } from '../../protocol/results/slo.ts';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import type { Loss } from '../import/source.ts';
import type { Stored } from '../project/export.ts';
import type { Fields, Folder } from '../project/project.ts';

type ListRoute = Route & { readonly response: z.ZodArray };

const lists: readonly (readonly [Folder, ListRoute])[] = [
  ['alert-channels', alertChannelRoutes.listAlertChannels],
  ['groups', checkGroupRoutes.listCheckGroups],
  ['checks', checkRoutes.listChecks],
  ['maintenance-windows', maintenanceWindowApi.routes.list as ListRoute],
  ['dashboards', dashboardRoutes.listDashboards],
  ['variables', variableApi.routes.list as ListRoute],
  ['snippets', snippetApi.routes.list as ListRoute],
  ['client-certificates', clientCertificateApi.routes.list as ListRoute],
  ['slos', sloApi.routes.list as ListRoute],
];

/**
 * Everything of an account that files can hold. A list that changes while it is read may show one thing twice: it is
 * there once.
 *
 * @param onProgress is given each kind before it is read.
 */
export async function readAccount(api: ApiClient, onProgress: (what: string) => void): Promise<Stored[]> {
  const stored = new Map<string, Stored>();
  const add = (folder: Folder, views: readonly unknown[], idKey = 'id') => {
    for (const view of views as readonly Fields[]) {
      const id = view[idKey] as string | number;
      stored.set(`${folder}/${id}`, { folder, id, view });
    }
  };
  onProgress('locations');
  add('locations', await api.call(privateLocationRoutes.listPrivateLocations));
  for (const [folder, route] of lists) {
    onProgress(folder);
    add(folder, await api.all(route));
  }
  onProgress('status-pages');
  add('services', await api.allEntries(statusPageRoutes.listServices));
  add('status-pages', await api.allEntries(statusPageRoutes.listStatusPages));
  add('status-page-components', await api.allEntries(statusPageComponentRoutes.listStatusPageComponents));
  add('automation-rules', await api.allEntries(automationRuleRoutes.listAutomationRules));
  return [...stored.values()];
}

const pages: readonly (readonly [Folder, Route])[] = [
  ['services', statusPageRoutes.listServices],
  ['status-pages', statusPageRoutes.listStatusPages],
];
const componentLists: readonly (readonly [Folder, Route])[] = [
  ['status-page-components', statusPageComponentRoutes.listStatusPageComponents],
  ['automation-rules', automationRuleRoutes.listAutomationRules],
];

const anything = z.looseObject({});
const anyPage = cursorPage(anything);

/**
 * The same of an account of a comparable service: whatever it shows. What it has no operation for is on the list of
 * what is lost; without its checks nothing is read.
 */
export async function readForeignAccount(
  api: ApiClient,
  onProgress: (what: string) => void,
): Promise<{ readonly stored: readonly Stored[]; readonly losses: readonly Loss[] }> {
  const stored: Stored[] = [];
  const losses: Loss[] = [];
  const read = async (folder: Folder, views: () => Promise<readonly Fields[]>) => {
    onProgress(folder);
    try {
      for (const view of await views()) {
        const id = view['id'] ?? view['key'];
        if (typeof id === 'string' || typeof id === 'number') stored.push({ folder, id, view });
        else losses.push({ field: folder, reason: 'one of them has no id' });
      }
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || folder === 'checks') throw thrown;
      losses.push({ field: folder, reason: thrown.message });
    }
  };
  await read('locations', () =>
    api.call({ ...privateLocationRoutes.listPrivateLocations, response: z.array(anything) }),
  );
  const readAll = ([folder, route]: readonly [Folder, Route], isByCursor: boolean) =>
    read(folder, async () => {
      const views: readonly unknown[] = isByCursor
        ? await api.allEntries({ ...route, response: anyPage })
        : await api.all({ ...route, response: z.array(anything) });
      return views as readonly Fields[];
    });
  for (const one of lists) await readAll(one, false);
  for (const one of pages) await readAll(one, true);
  // Where there are none, it may have no operations for them.
  if (stored.some(({ folder, view }) => folder === 'status-pages' && view['version'] === 3)) {
    for (const one of componentLists) await readAll(one, true);
  }
  return { stored, losses };
}
