import { randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, handlersById } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { DashboardOptions } from '@picket/protocol/pages/dashboard.ts';
import { previewRoutes } from '@picket/protocol/pages/preview.ts';
import { StatusPageOptions } from '@picket/protocol/pages/status-page.ts';
import type { AnalyticsDeps } from '../results/analytics/routes.ts';
import { dashboardChecks, dashboardData } from './dashboards/dashboard-data.ts';
import type { Dashboard } from './dashboards/store.ts';
import { type StatusPageLayout, statusPageData } from './status-page-data.ts';
import type { StatusPageRow } from './tables.ts';

/** Routes that show pages as they would look with unsaved changes. */
export function previewHandlers({
  store,
  clock,
  publicUrl,
  analytics,
}: AnalyticsDeps): [string, AnyHandler][] {
  const layoutOf = async (
    accountId: string,
    pageId: string,
    cards: readonly { readonly name: string; readonly services: readonly { readonly id: string }[] }[],
  ): Promise<StatusPageLayout> => {
    const wanted = cards.flatMap(({ services }) => services.map(({ id }) => id.toLowerCase()));
    const known = new Map((await store.services.listBehind(accountId)).map((row) => [row.id, row]));
    const unknown = wanted.find((id) => !known.has(id));
    if (unknown !== undefined) throw new AppError('NOT_FOUND', `There is no service ${unknown}.`);
    const rows = cards.map(({ name }, position) => ({
      id: randomUUID(),
      status_page_id: pageId,
      position,
      name,
      created: 0,
      updated: null,
    }));
    const services = rows.flatMap((card, index) => {
      const ids = new Set(cards[index]?.services.map(({ id }) => id.toLowerCase()));
      return [...ids].flatMap((id) => {
        const service = known.get(id);
        return service ? [{ ...service, card_id: card.id }] : [];
      });
    });
    return { cards: rows, services };
  };
  return handlersById(previewRoutes, {
    async previewStatusPage({ caller, query, body }) {
      const { statusPageId } = query;
      const now = clock.wallMs();
      if (statusPageId !== undefined) {
        found(await store.statusPages.find(caller.accountId, statusPageId), `status page ${statusPageId}`);
      }
      const page: StatusPageRow = {
        id: statusPageId?.toLowerCase() ?? randomUUID(),
        version: body.version,
        account_id: caller.accountId,
        name: body.name,
        url: body.url.toLowerCase(),
        custom_domain: null,
        is_private: body.isPrivate ? 1 : 0,
        definition: JSON.stringify(StatusPageOptions.parse(body)),
        created: now,
        updated: null,
      };
      const layout = await layoutOf(caller.accountId, page.id, body.cards ?? []);
      return statusPageData(store, analytics, page, now, layout);
    },
    async previewDashboard({ caller, body }) {
      const now = clock.wallMs();
      const options = DashboardOptions.parse(body);
      const dashboard: Dashboard = {
        // Id of no stored dashboard: a preview shows no incidents.
        id: 0,
        account_id: caller.accountId,
        dashboard_id: '',
        custom_url: '',
        custom_domain: null,
        is_private: 1,
        definition: JSON.stringify(options),
        created: now,
        updated: null,
      };
      const checks = await dashboardChecks(store, dashboard, options);
      return dashboardData(store, analytics, { dashboard, options, checks, page: 1, now, publicUrl });
    },
  });
}
