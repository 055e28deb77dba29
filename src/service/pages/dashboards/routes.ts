import { randomBytes } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { found, notFound } from '@picket/platform/http/known-names.ts';
import { describePage, pageOffset } from '@picket/platform/http/paging.ts';
import { isUniqueViolation } from '@picket/platform/store/engine/dialect.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import {
  DashboardOptions,
  type Dashboard as DashboardView,
  dashboardRoutes,
} from '@picket/protocol/pages/dashboard.ts';
import type { CustomDomainState } from '@picket/protocol/pages/page-fields.ts';
import { claimDomain, domainOfBody } from '../../custom-domains/claiming.ts';
import type { DomainProof } from '../../custom-domains/domain-proof.ts';
import { checkDomainOf, domainStates } from '../../custom-domains/shown.ts';
import { changeKeys, keyViews } from '../keys.ts';
import type { DashboardKeyRow } from '../tables.ts';
import type { Dashboard } from './store.ts';

const storedOptions = storedJson('dashboards.definition', DashboardOptions);

/** Routes of dashboards. */
export function dashboardHandlers(
  deps: HandlerDeps & { readonly domainProof: DomainProof },
): [string, AnyHandler][] {
  const { store, clock, domainProof } = deps;
  const viewOf = async (row: Dashboard, rawKey?: string): Promise<DashboardView> =>
    dashboardView(row, {
      keys: await store.dashboards.keys([row.id]),
      states: await domainStates(store, domainProof, [row]),
      rawKey,
    });
  return handlersById(dashboardRoutes, {
    async listDashboards({ caller, query, request, reply }) {
      const { total, rows } = await store.dashboards.list(caller.accountId, {
        limit: query.limit,
        offset: pageOffset(query),
      });
      describePage(request, reply, { query, total, publicUrl: deps.publicUrl });
      const keys = Map.groupBy(
        await store.dashboards.keys(rows.map(({ id }) => id)),
        (key) => key.dashboard_id,
      );
      const states = await domainStates(store, domainProof, rows);
      return rows.map((row) => dashboardView(row, { keys: keys.get(row.id) ?? [], states }));
    },
    async createDashboard({ caller, body }) {
      const now = clock.wallMs();
      const dashboardId = randomBytes(8).toString('hex');
      const { row, rawKey } = await refusingTakenAddress(() =>
        store.transaction(async (repositories) => {
          const host = domainOfBody(body.customDomain) ?? null;
          await claimDomain(repositories, domainProof, {
            account_id: caller.accountId,
            status_page_id: null,
            dashboard_id: dashboardId,
            host,
            now,
          });
          const inserted = await repositories.dashboards.insert({
            account_id: caller.accountId,
            dashboard_id: dashboardId,
            custom_url: (body.customUrl ?? dashboardId).toLowerCase(),
            custom_domain: host,
            is_private: body.isPrivate ? 1 : 0,
            definition: JSON.stringify(DashboardOptions.parse(body)),
            created: now,
            updated: null,
          });
          const keys = { before: undefined, after: inserted, now };
          return { row: inserted, rawKey: await changeKeys(repositories.dashboards, 'da_', keys) };
        }),
      );
      return viewOf(row, rawKey);
    },
    async getDashboard({ caller, params }) {
      return viewOf(found(await store.dashboards.find(caller.accountId, params.dashboardId), named(params)));
    },
    async updateDashboard({ caller, params, body }) {
      const now = clock.wallMs();
      const { row, rawKey } = await refusingTakenAddress(() =>
        store.transaction(async (repositories) => {
          const stored = found(
            await repositories.dashboards.findForUpdate(caller.accountId, params.dashboardId),
            named(params),
          );
          const { customUrl, customDomain, isPrivate, ...options } = body;
          const changed: Dashboard = {
            ...stored,
            custom_url: customUrl?.toLowerCase() ?? stored.custom_url,
            custom_domain:
              customDomain === undefined ? stored.custom_domain : (domainOfBody(customDomain) ?? null),
            is_private: (isPrivate ?? stored.is_private === 1) ? 1 : 0,
            definition: JSON.stringify({ ...optionsOf(stored), ...options }),
            updated: now,
          };
          if (changed.custom_domain !== stored.custom_domain) {
            await claimDomain(repositories, domainProof, {
              account_id: stored.account_id,
              status_page_id: null,
              dashboard_id: stored.dashboard_id,
              host: changed.custom_domain,
              now,
            });
          }
          await repositories.dashboards.update(changed);
          const keys = { before: stored, after: changed, now };
          return { row: changed, rawKey: await changeKeys(repositories.dashboards, 'da_', keys) };
        }),
      );
      return viewOf(row, rawKey);
    },
    async checkDashboardDomain({ caller, params }) {
      const row = found(await store.dashboards.find(caller.accountId, params.dashboardId), named(params));
      await checkDomainOf({ ...deps, proof: domainProof }, row);
      return viewOf(row);
    },
    async deleteDashboard({ caller, params }) {
      const isDeleted = await store.dashboards.delete(caller.accountId, params.dashboardId);
      if (!isDeleted) throw notFound(named(params));
    },
  });
}

/** Options of a stored dashboard, with defaults for those that a newer build added. */
export function optionsOf(row: Dashboard): DashboardOptions {
  return storedOptions(row.definition);
}

async function refusingTakenAddress<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (thrown) {
    if (!isUniqueViolation(thrown)) throw thrown;
    throw new AppError('CONFLICT', 'The customUrl is already used. Choose another one.');
  }
}

function named({ dashboardId }: { readonly dashboardId: string }): string {
  return `dashboard ${dashboardId}`;
}

interface Shown {
  readonly keys: readonly DashboardKeyRow[];
  readonly states: ReadonlyMap<string, CustomDomainState>;
  readonly rawKey?: string | undefined;
}

function dashboardView(row: Dashboard, { keys, states, rawKey }: Shown): DashboardView {
  return {
    id: row.id,
    dashboardId: row.dashboard_id,
    created_at: iso(row.created),
    updated_at: optionalIso(row.updated),
    ...optionsOf(row),
    customUrl: row.custom_url,
    customDomain: row.custom_domain,
    customDomainState: states.get(row.custom_domain ?? '') ?? null,
    isPrivate: row.is_private === 1,
    keys: keyViews(keys, rawKey),
  };
}
