import { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import { runtimeIds } from '@picket/checks/tables/runtimes.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineRoute, noContent, successful } from '../http/route.ts';

/** An account, as its members see it. */
export const Account = lazySchema(() =>
  z
    .object({
      id: z.uuid(),
      name: z.string(),
      plan: z.literal('SELF_HOSTED'),
      settings: z.record(z.string(), z.unknown()).describe('No additional information'),
      runtimeId: z
        .enum(runtimeIds)
        .describe('Default runtime of checks, if neither the check nor its group sets one'),
      alertSettings: AlertSettings.schema.describe('For checks that use the global alert settings'),
    })
    .meta({ id: 'Account' }),
);

/** Limits and features of an account. A self-hosted service sets no limits; features that it lacks are not enabled. */
export const Entitlements = lazySchema(() =>
  z
    .object({
      plan: z.literal('SELF_HOSTED'),
      planDisplayName: z.string(),
      addons: z.record(z.string(), z.never()).describe('Always empty: the product has no paid add-ons'),
      locations: z.object({
        all: z.array(
          z.object({
            id: z.string().describe('slugName of a private location of the account'),
            name: z.string(),
            available: z.boolean(),
          }),
        ),
        maxPerCheck: z.int(),
      }),
      entitlements: z.array(
        z.object({
          key: z.string(),
          name: z.string(),
          description: z.string(),
          type: z.enum(['flag', 'metered']),
          enabled: z.boolean(),
          quantity: z.int().optional().describe('Limit; absent if unlimited, and for flags'),
        }),
      ),
    })
    .meta({ id: 'Entitlements' }),
);

const count = z.int().min(0);

/** How much an account has stored, and how long it is kept. */
export const Usage = lazySchema(() =>
  z
    .object({
      checks: count,
      activeChecks: count,
      privateLocations: count,
      members: count,
      results: count.describe('Stored results, with details'),
      artifacts: count.describe('Stored files of runs'),
      artifactBytes: count,
      codeBundleBytes: count,
      retentionDays: z.object({
        results: count,
        artifacts: count,
        analytics: count,
        auditLog: count,
      }),
    })
    .meta({ id: 'Usage' }),
);

const usageRange = {
  from: z.iso.date().optional(),
  accountIds: z.string().optional().describe('Separated by commas'),
  checkTypes: z.string().optional().describe('Separated by commas'),
};

/** Clients of comparable systems request these; a self-hosted service has no contracts to report. */
function usageByContract<const Name extends string>(name: Name, what: string, query: z.ZodRawShape) {
  return defineRoute({
    method: 'GET',
    path: `/v1/usage/${name}`,
    operationId: `getUsage${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    summary: `${what}: always 404 with the code NO_USAGE_TERMS, because a self-hosted service has no contract`,
    tag: 'Accounts',
    credential: 'account',
    query: z.object({ to: z.iso.date().optional(), ...query }),
    otherErrors: [404],
    success: noContent,
  });
}

export const accountRoutes = {
  listAccounts: defineRoute({
    method: 'GET',
    path: '/v1/accounts',
    operationId: 'listAccounts',
    summary: 'The accounts that the API key can use: only its own',
    tag: 'Accounts',
    credential: 'account',
    success: successful,
    response: lazySchema(() => z.array(Account.schema)),
  }),
  getAccount: defineRoute({
    method: 'GET',
    path: '/v1/accounts/{accountId}',
    operationId: 'getAccount',
    summary: 'An account of the API key',
    tag: 'Accounts',
    credential: 'account',
    params: z.object({ accountId: z.uuid() }),
    success: successful,
    response: Account,
  }),
  getEntitlements: defineRoute({
    method: 'GET',
    path: '/v1/accounts/me/entitlements',
    operationId: 'getEntitlements',
    summary: 'Features and limits of the account of the API key',
    tag: 'Accounts',
    credential: 'account',
    success: successful,
    response: Entitlements,
  }),
  getUsage: defineRoute({
    method: 'GET',
    path: '/v1/accounts/me/usage',
    operationId: 'getUsage',
    summary: 'Storage use of the account of the API key, and retention periods',
    tag: 'Accounts',
    credential: 'account',
    success: successful,
    response: Usage,
  }),
  getUsageTerms: usageByContract('terms', 'The terms of a contract', {}),
  getUsageSummary: usageByContract('summary', 'Usage of a contract', usageRange),
  getUsageSeries: usageByContract('series', 'Usage of a contract over time', {
    ...usageRange,
    interval: z.enum(['total', 'day', 'week', 'month']).optional(),
    groupBy: z.string().optional(),
    limit: z.coerce.number().int().min(1).optional(),
    nextId: z.string().optional(),
  }),
  getOwnAccount: defineRoute({
    method: 'GET',
    path: '/v1/accounts/me',
    operationId: 'getOwnAccount',
    summary: 'The account of the API key',
    tag: 'Accounts',
    credential: 'account',
    success: successful,
    response: Account,
  }),
};
