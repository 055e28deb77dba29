import { AppError } from '@picket/lib/errors.ts';
import { askedInPublic } from '@picket/lib/turns/asker.ts';
import { type AnyHandler, handlersById } from '@picket/platform/feature/handler.ts';
import { DashboardData, publicPageRoutes, type StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { z } from 'zod';
import type { AnalyticsDeps } from '../results/analytics/routes.ts';
import { etagOf, share } from './answers/shared-answer.ts';
import { dashboardChecks, dashboardData } from './dashboards/dashboard-data.ts';
import { optionsOf } from './dashboards/routes.ts';
import type { Dashboard } from './dashboards/store.ts';
import { keyOf, requireKey } from './keys.ts';
import { PageSnapshots } from './page-snapshots.ts';
import { statusPageData } from './status-page-data.ts';
import { askToSubscribe, confirmableMs } from './subscriptions/subscribing.ts';
import type { PageKeyRow, StatusPageRow } from './tables.ts';

/** A dashboard page with more checks is shared between requests for some seconds. */
const manyChecks = 50;
/** Likewise for a status page with more services or components. */
const manyServices = 20;
const hashOf = ({ key_hash }: PageKeyRow): string => key_hash;

/** The creation time is ignored: only other changes count. */
const withoutTime = (data: { readonly generatedAt: string }) =>
  etagOf(JSON.stringify({ ...data, generatedAt: '' }));

const servicesOn = ({ cards, components }: StatusPageData) =>
  components.length + cards.reduce((sum, { services }) => sum + services.length, 0);

/** Routes of public content: pages, but not the account behind them. */
export function publicPageHandlers(
  deps: AnalyticsDeps & { readonly hasPages?: boolean },
): [string, AnyHandler][] {
  const { store, clock, publicUrl, analytics } = deps;
  const snapshots = new PageSnapshots(clock);
  const openDashboard = async (dashboard: Dashboard, key: string | undefined) => {
    if (dashboard.is_private === 0) return;
    const keys = await store.dashboards.keys([dashboard.id]);
    requireKey('dashboard', keys.map(hashOf), key);
  };
  /** @throws AppError NOT_FOUND, BAD_TOKEN */
  const openStatusPage = async (address: string, key: string | undefined): Promise<StatusPageRow> => {
    const page = await store.statusPages.findByAddress(address.toLowerCase());
    if (!page) throw new AppError('NOT_FOUND', 'There is no status page at this address.');
    if (page.is_private === 1) {
      requireKey('status page', (await store.statusPages.keys([page.id])).map(hashOf), key);
    }
    return page;
  };
  return handlersById(publicPageRoutes, {
    async getDashboardData({ params, query, request, reply }) {
      const dashboard = await store.dashboards.findByAddress(params.address.toLowerCase());
      if (!dashboard) throw new AppError('NOT_FOUND', 'There is no dashboard at this address.');
      await openDashboard(dashboard, keyOf(request, query.key));
      const isPrivate = dashboard.is_private === 1;
      if (isPrivate) reply.header('cache-control', 'private, no-store');
      const options = optionsOf(dashboard);
      const { page } = query;
      const key = `dashboard ${dashboard.id} ${dashboard.updated}`;
      const checks = await snapshots.get(
        `checks of ${key}`,
        () => dashboardChecks(store.readers, dashboard, options),
        ({ length }) => length > manyChecks,
      );
      const now = clock.wallMs();
      const { text, etag } = await snapshots.get(
        `${key} ${page}`,
        async () => {
          const request = { dashboard, options, checks, page, now, publicUrl };
          const data = await askedInPublic(dashboard.account_id, () =>
            dashboardData(store.readers, analytics, request),
          );
          const encoded = z.encode(DashboardData.schema, data);
          return {
            text: JSON.stringify(encoded),
            etag: withoutTime(encoded),
            checksShown: data.checks.length,
          };
        },
        ({ checksShown }) => checksShown > manyChecks,
      );
      if (!isPrivate) await share({ request, reply }, etag);
      reply.type('application/json; charset=utf-8');
      return text as unknown as DashboardData;
    },
    async getStatusPageData({ params, query, request, reply }) {
      const page = await openStatusPage(params.address, keyOf(request, query.key));
      const isPrivate = page.is_private === 1;
      if (isPrivate) reply.header('cache-control', 'private, no-store');
      const { data, etag } = await snapshots.get(
        `status page ${page.id} ${page.updated}`,
        async () => {
          const data = await askedInPublic(page.account_id, () =>
            statusPageData(store.readers, analytics, page, clock.wallMs()),
          );
          return { data, etag: withoutTime(data) };
        },
        ({ data }) => servicesOn(data) > manyServices,
      );
      if (!isPrivate) await share({ request, reply }, etag);
      return data;
    },
    async subscribe({ params, query, body, request }) {
      const page = await openStatusPage(params.address, keyOf(request, query.key));
      await askToSubscribe(deps, page, body.config.address.toLowerCase());
      return { status: 'PENDING' as const };
    },
    async confirmSubscription({ params }) {
      const now = clock.wallMs();
      if (!(await store.subscriptions.confirm(params.token, now - confirmableMs, now))) {
        throw new AppError(
          'NOT_FOUND',
          'The subscription no longer exists: links are valid for two days. Subscribe again.',
        );
      }
    },
    async unsubscribe({ params }) {
      if (!(await store.subscriptions.deleteByToken(params.token))) {
        throw new AppError('NOT_FOUND', 'The subscription does not exist, or it has already ended.');
      }
    },
  });
}
