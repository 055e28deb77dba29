import { AppError } from '../../lib/errors.ts';
import { publicPageRoutes } from '../../protocol/pages/public-page.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../http/handler.ts';
import { hashKey } from '../ids/keys.ts';
import { dashboardData } from './dashboards/dashboard-data.ts';
import { optionsOf } from './dashboards/routes.ts';
import type { Dashboard } from './dashboards/store.ts';
import { statusPageData } from './status-page-data.ts';

/** The routes of what anybody may read: pages, not the account behind them. */
export function publicPageHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  const mayOpen = async (dashboard: Dashboard, rawKey: string | undefined): Promise<boolean> => {
    if (dashboard.is_private === 0) return true;
    if (rawKey === undefined) return false;
    const keyHash = hashKey(rawKey);
    const keys = await store.dashboards.keys([dashboard.id]);
    return keys.some((key) => key.key_hash === keyHash);
  };
  return handlersById(publicPageRoutes, {
    async getDashboardData({ params, query, request, reply }) {
      const dashboard = await store.dashboards.findByAddress(params.address.toLowerCase());
      if (!dashboard) throw new AppError('NOT_FOUND', 'There is no dashboard at this address.');
      const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
      if (!(await mayOpen(dashboard, bearer ?? query.key))) {
        throw new AppError(
          'BAD_TOKEN',
          'Bad Token: the dashboard is private. Send one of its keys as "Authorization: Bearer <key>" or as ?key=.',
        );
      }
      if (dashboard.is_private === 1) reply.header('cache-control', 'private, no-store');
      const now = clock.wallMs();
      const options = optionsOf(dashboard);
      return dashboardData(store, { dashboard, options, page: query.page, now, publicUrl });
    },
    async getStatusPageData({ params }) {
      const page = await store.statusPages.findByAddress(params.address.toLowerCase());
      if (!page) throw new AppError('NOT_FOUND', 'There is no status page at this address.');
      return statusPageData(store, page, clock.wallMs());
    },
    async unsubscribe({ params }) {
      if (!(await store.subscriptions.deleteByToken(params.token))) {
        throw new AppError('NOT_FOUND', 'There is no such subscription, or it ended before.');
      }
    },
  });
}
