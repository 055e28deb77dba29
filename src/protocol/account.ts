import { z } from 'zod';
import { AlertSettings, runtimeIds } from '../checks/common-fields.ts';
import { defineRoute, successful } from './route.ts';

/** An account, as its holders see it. */
export const Account = z
  .object({
    id: z.uuid(),
    name: z.string(),
    runtimeId: z.enum(runtimeIds).describe('Runtime of checks when neither they nor their group name one'),
    alertSettings: AlertSettings.describe('For checks that use the global alert settings'),
  })
  .meta({ id: 'Account' });

export const accountRoutes = {
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
