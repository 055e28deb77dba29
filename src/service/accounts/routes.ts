import { defaultRuntimeId } from '@picket/checks/tables/runtimes.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { accountRoutes, type Usage } from '@picket/protocol/accounts/account.ts';
import { nextAccountRoutes } from '@picket/protocol/accounts/next-account.ts';
import type { z } from 'zod';
import { asSettings } from '../alerts/policy.ts';
import { entitlementsOf, maxShownLocations, planDisplayName } from './entitlements.ts';

/** Retention periods in days. */
export type RetentionDays = z.output<typeof Usage.schema>['retentionDays'];

/** Retention periods set by the configuration. */
export function configuredRetention(
  config: Pick<
    ServiceConfig,
    'RESULT_RETENTION_DAYS' | 'ARTIFACT_RETENTION_DAYS' | 'ANALYTICS_RETENTION_DAYS' | 'AUDIT_RETENTION_DAYS'
  >,
): RetentionDays {
  return {
    results: config.RESULT_RETENTION_DAYS,
    artifacts: config.ARTIFACT_RETENTION_DAYS,
    analytics: config.ANALYTICS_RETENTION_DAYS,
    auditLog: config.AUDIT_RETENTION_DAYS,
  };
}

/** Routes of accounts. */
export function accountHandlers({
  store,
  hasMailer = false,
  retentionDays,
}: HandlerDeps & { readonly retentionDays: RetentionDays }): [string, AnyHandler][] {
  const viewOf = async (accountId: string) => {
    const account = await store.accounts.find(accountId);
    if (!account) throw new Error('the account of a valid key does not exist');
    const alertSettings = (await store.accounts.alertSettings([accountId])).get(accountId);
    return {
      id: account.id,
      name: account.name,
      plan: 'SELF_HOSTED' as const,
      settings: {},
      runtimeId: defaultRuntimeId,
      alertSettings: asSettings(alertSettings),
    };
  };
  const nextViewOf = async (accountId: string) => {
    const { id, name, runtimeId } = await viewOf(accountId);
    return { id, name, runtimeId, planDisplayName, addons: {}, features: [] };
  };
  const next = handlersById(nextAccountRoutes, {
    async listNextAccounts({ caller }) {
      return [await nextViewOf(caller.accountId)];
    },
    async getNextAccount({ caller, params }) {
      refuseOther(caller.accountId, params.accountId);
      return nextViewOf(caller.accountId);
    },
    async getNextUser({ caller }) {
      return { id: caller.actor.id, name: caller.actor.name };
    },
  });
  const own = handlersById(accountRoutes, {
    async getOwnAccount({ caller }) {
      return viewOf(caller.accountId);
    },
    async listAccounts({ caller }) {
      return [await viewOf(caller.accountId)];
    },
    async getAccount({ caller, params }) {
      refuseOther(caller.accountId, params.accountId);
      return viewOf(caller.accountId);
    },
    async getUsage({ caller }) {
      return { ...(await store.accounts.usage(caller.accountId)), retentionDays };
    },
    getUsageTerms: noContract,
    getUsageSummary: noContract,
    getUsageSeries: noContract,
    async getEntitlements({ caller }) {
      const { rows } = await store.locations.list(caller.accountId, { limit: maxShownLocations, offset: 0 });
      return entitlementsOf(rows, { hasMailer });
    },
  });
  return [...own, ...next];
}

async function noContract(): Promise<never> {
  throw new AppError('NO_USAGE_TERMS', 'A self-hosted service has no usage terms.');
}

/** @throws AppError NOT_FOUND if a path names an account that the key does not belong to. */
function refuseOther(accountId: string, named: string): void {
  if (named.toLowerCase() !== accountId) throw new AppError('NOT_FOUND', `There is no account ${named}.`);
}
