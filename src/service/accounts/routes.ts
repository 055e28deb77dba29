import type { z } from 'zod';
import { checkTypes } from '../../checks/index.ts';
import { defaultRuntimeId } from '../../checks/tables/runtimes.ts';
import { AppError } from '../../lib/errors.ts';
import { accountRoutes, type Usage } from '../../protocol/accounts/account.ts';
import { maxArtifactBytes } from '../../protocol/results/artifact.ts';
import { asSettings } from '../alerts/policy.ts';
import type { ServiceConfig } from '../config.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../http/handler.ts';

/** For how many days things are kept. */
export type RetentionDays = z.output<typeof Usage>['retentionDays'];

/** The retention that a configuration sets. */
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

/** The routes of accounts. */
export function accountHandlers({
  store,
  hasMailer = false,
  retentionDays,
}: HandlerDeps & { readonly retentionDays: RetentionDays }): [string, AnyHandler][] {
  const viewOf = async (accountId: string) => {
    const account = await store.accounts.find(accountId);
    if (!account) throw new Error('the account of a valid key is not there');
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
  return handlersById(accountRoutes, {
    async getOwnAccount({ caller }) {
      return viewOf(caller.accountId);
    },
    async listAccounts({ caller }) {
      return [await viewOf(caller.accountId)];
    },
    async getAccount({ caller, params }) {
      if (params.accountId.toLowerCase() !== caller.accountId) {
        throw new AppError('NOT_FOUND', `There is no account ${params.accountId}.`);
      }
      return viewOf(caller.accountId);
    },
    async getUsage({ caller }) {
      return { ...(await store.accounts.usage(caller.accountId)), retentionDays };
    },
    async getEntitlements() {
      const flag = (key: string, name: string, enabled: boolean) => ({
        key,
        name,
        type: 'FLAG' as const,
        enabled,
        quantity: null,
      });
      const metered = (key: string, name: string, quantity: number | null) => ({
        key,
        name,
        type: 'METERED' as const,
        enabled: true,
        quantity,
      });
      return {
        plan: 'SELF_HOSTED' as const,
        entitlements: [
          ...checkTypes.map((type) => flag(`CHECK_TYPE_${type.name}`, type.title, true)),
          flag('STATUS_PAGE_SUBSCRIBERS', 'Mails to subscribers of status pages', hasMailer),
          flag('ROOT_CAUSE_ANALYSIS', 'Root cause analyses by a model', false),
          metered('CHECKS', 'Checks', null),
          metered('PRIVATE_LOCATIONS', 'Private locations', null),
          metered('DASHBOARDS', 'Dashboards', null),
          metered('STATUS_PAGES', 'Status pages', null),
          metered('ARTIFACT_BYTES', 'Bytes of one artifact', maxArtifactBytes),
        ],
      };
    },
  });
}
