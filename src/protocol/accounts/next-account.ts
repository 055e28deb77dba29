import { z } from 'zod';
import { runtimeIds } from '../../checks/tables/runtimes.ts';
import { defineRoute, successful } from '../http/route.ts';

/** An account as command lines ask for it before anything else. */
const NextAccount = z
  .object({
    id: z.uuid(),
    name: z.string(),
    runtimeId: z.enum(runtimeIds).describe('Runtime of checks that name none'),
    planDisplayName: z.string(),
    addons: z.record(z.string(), z.never()).describe('Always empty: nothing is sold'),
    features: z.array(z.string()).describe('Always empty: everything this build can do is on'),
  })
  .meta({ id: 'NextAccount' });

const common = { tag: 'Accounts', credential: 'account', method: 'GET', success: successful } as const;

/** Accounts at the addresses that existing command lines know. */
export const nextAccountRoutes = {
  listNextAccounts: defineRoute({
    ...common,
    path: '/next/accounts',
    operationId: 'listNextAccounts',
    summary: 'The accounts that the API key opens, as existing command lines ask for them',
    response: z.array(NextAccount),
  }),
  getNextAccount: defineRoute({
    ...common,
    path: '/next/accounts/{accountId}',
    operationId: 'getNextAccount',
    summary: 'An account that the API key opens, as existing command lines ask for it',
    params: z.object({ accountId: z.uuid() }),
    response: NextAccount,
  }),
  getNextUser: defineRoute({
    ...common,
    path: '/next/users/me',
    operationId: 'getNextUser',
    summary: 'Who calls: the API key, or the member who is logged in',
    response: z.object({ id: z.string(), name: z.string() }).meta({ id: 'NextUser' }),
  }),
};
