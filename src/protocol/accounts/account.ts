import { z } from 'zod';
import { AlertSettings } from '../../checks/contract/definition/common-fields.ts';
import { runtimeIds } from '../../checks/tables/runtimes.ts';
import { defineRoute, noContent, successful } from '../http/route.ts';

/** An account, as its holders see it. */
export const Account = z
  .object({
    id: z.uuid(),
    name: z.string(),
    plan: z.literal('SELF_HOSTED'),
    settings: z.record(z.string(), z.unknown()).describe('Nothing but what other fields show'),
    runtimeId: z.enum(runtimeIds).describe('Runtime of checks when neither they nor their group name one'),
    alertSettings: AlertSettings.describe('For checks that use the global alert settings'),
  })
  .meta({ id: 'Account' });

/** What an account may use. A service of one's own limits nobody; what it cannot do itself is not enabled. */
export const Entitlements = z
  .object({
    plan: z.literal('SELF_HOSTED'),
    planDisplayName: z.string(),
    addons: z.record(z.string(), z.never()).describe('Always empty: nothing is sold'),
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
        quantity: z.int().optional().describe('How many; absent without a limit, and for flags'),
      }),
    ),
  })
  .meta({ id: 'Entitlements' });

const count = z.int().min(0);

/** How much an account has stored, and how long it is kept. */
export const Usage = z
  .object({
    checks: count,
    activeChecks: count,
    privateLocations: count,
    members: count,
    results: count.describe('Results of runs that are kept with their details'),
    artifacts: count.describe('Files of runs that are kept'),
    artifactBytes: count,
    codeBundleBytes: count,
    retentionDays: z.object({
      results: count,
      artifacts: count,
      analytics: count,
      auditLog: count,
    }),
  })
  .meta({ id: 'Usage' });

const usageRange = {
  from: z.iso.date().optional(),
  accountIds: z.string().optional().describe('Separated by commas'),
  checkTypes: z.string().optional().describe('Separated by commas'),
};

/** Clients of comparable systems ask for these; a service of one's own has no contracts to speak of. */
function usageByContract<const Name extends string>(name: Name, what: string, query: z.ZodRawShape) {
  return defineRoute({
    method: 'GET',
    path: `/v1/usage/${name}`,
    operationId: `getUsage${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    summary: `${what}: always 404 with the code NO_USAGE_TERMS, as there is none`,
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
    summary: 'The accounts that the API key opens: its own',
    tag: 'Accounts',
    credential: 'account',
    success: successful,
    response: z.array(Account),
  }),
  getAccount: defineRoute({
    method: 'GET',
    path: '/v1/accounts/{accountId}',
    operationId: 'getAccount',
    summary: 'An account that the API key opens',
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
    summary: 'What the account of the API key may use, and how much of it',
    tag: 'Accounts',
    credential: 'account',
    success: successful,
    response: Entitlements,
  }),
  getUsage: defineRoute({
    method: 'GET',
    path: '/v1/accounts/me/usage',
    operationId: 'getUsage',
    summary: 'How much the account of the API key has stored, and how long it is kept',
    tag: 'Accounts',
    credential: 'account',
    success: successful,
    response: Usage,
  }),
  getUsageTerms: usageByContract('terms', 'The terms of a contract', {}),
  getUsageSummary: usageByContract('summary', 'What a contract was used for', usageRange),
  getUsageSeries: usageByContract('series', 'What a contract was used for, by time', {
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
