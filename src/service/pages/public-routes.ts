import { z } from 'zod';
import { AppError } from '../../lib/errors.ts';
import { DashboardData, publicPageRoutes } from '../../protocol/pages/public-page.ts';
import { type AnyHandler, handlersById } from '../http/handler.ts';
import { hashKey } from '../ids/keys.ts';
import type { AnalyticsDeps } from '../results/analytics/routes.ts';
import { dashboardChecks, dashboardData } from './dashboards/dashboard-data.ts';
import { optionsOf } from './dashboards/routes.ts';
import type { Dashboard } from './dashboards/store.ts';
import { PageSnapshots } from './page-snapshots.ts';
import { statusPageData } from './status-page-data.ts';
import { askToSubscribe, confirmableMs } from './subscribing.ts';

/** A page of a dashboard that shows more checks is made once for all who ask for some seconds. */
const manyChecks = 50;

/** The routes of what anybody may read: pages, not the account behind them. */
export function publicPageHandlers(
  deps: AnalyticsDeps & { readonly hasPages?: boolean },
): [string, AnyHandler][] {
  const { store, clock, publicUrl, analytics } = deps;
  const snapshots = new PageSnapshots(clock);
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
      const options = optionsOf(dashboard);
      const { page } = query;
      const key = `dashboard ${dashboard.id} ${dashboard.updated}`;
      const checks = await snapshots.get(
        `checks of ${key}`,
        () => dashboardChecks(store, dashboard, options),
        ({ length }) => length > manyChecks,
      );
      const now = clock.wallMs();
      const { text } = await snapshots.get(
        `${key} ${page}`,
        async () => {
          const request = { dashboard, options, checks, page, now, publicUrl };
          const data = await dashboardData(store, analytics, request);
          return { text: JSON.stringify(z.encode(DashboardData, data)), checksShown: data.checks.length };
        },
        ({ checksShown }) => checksShown > manyChecks,
      );
      reply.type('application/json; charset=utf-8');
      return text as unknown as DashboardData;
    },
    async getStatusPageData({ params }) {
      const page = await store.statusPages.findByAddress(params.address.toLowerCase());
      if (!page) throw new AppError('NOT_FOUND', 'There is no status page at this address.');
      return snapshots.get(
        `status page ${page.id}`,
        () => statusPageData(store, analytics, page, clock.wallMs()),
        () => false,
      );
    },
    async subscribe({ params, body }) {
      const page = await store.statusPages.findByAddress(params.address.toLowerCase());
      if (!page) throw new AppError('NOT_FOUND', 'There is no status page at this address.');
      await askToSubscribe(deps, page, body.config.address.toLowerCase());
      return { status: 'PENDING' as const };
    },
    async confirmSubscription({ params }) {
      const now = clock.wallMs();
      if (!(await store.subscriptions.confirm(params.token, now - confirmableMs, now))) {
        throw new AppError(
          'NOT_FOUND',
          'There is no such subscription any more: links are good for two days. Subscribe again.',
        );
      }
    },
    async unsubscribe({ params }) {
      if (!(await store.subscriptions.deleteByToken(params.token))) {
        throw new AppError('NOT_FOUND', 'There is no such subscription, or it ended before.');
      }
    },
  });
}
