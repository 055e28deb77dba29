import { runtimeIds } from '@picket/checks/tables/runtimes.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineRoutes, successful } from '../http/route.ts';

/** An account, as existing command lines request it before anything else. */
const NextAccount = lazySchema(() =>
  z
    .object({
      id: z.uuid(),
      name: z.string(),
      runtimeId: z.enum(runtimeIds).describe('Default runtime of checks'),
      planDisplayName: z.string(),
      addons: z.record(z.string(), z.never()).describe('Always empty: the product has no paid add-ons'),
      features: z.array(z.string()).describe('Always empty: all features are enabled'),
    })
    .meta({ id: 'NextAccount' }),
);

const common = { method: 'GET', success: successful } as const;

/** Accounts at the paths that existing command lines use. */
export const nextAccountRoutes = defineRoutes('Accounts', 'account', {
  listNextAccounts: {
    ...common,
    path: '/next/accounts',
    summary: 'Accounts of the API key, in the format of existing command-line clients',
    response: lazySchema(() => z.array(NextAccount.schema)),
  },
  getNextAccount: {
    ...common,
    path: '/next/accounts/{accountId}',
    summary: 'An account of the API key, in the format of existing command-line clients',
    params: z.object({ accountId: z.uuid() }),
    response: NextAccount,
  },
  getNextUser: {
    ...common,
    path: '/next/users/me',
    summary: 'The caller: the API key, or the logged-in member',
    response: z.object({ id: z.string(), name: z.string() }).meta({ id: 'NextUser' }),
  },
});
