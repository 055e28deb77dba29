import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { accountRoutes } from '@picket/protocol/accounts/account.ts';
import { apiKeyRoutes } from '@picket/protocol/accounts/api-key.ts';
import { nextAccountRoutes } from '@picket/protocol/accounts/next-account.ts';
import { bootstrap } from './accounts.ts';
import { apiKeyHandlers } from './key-routes.ts';
import { accountHandlers, configuredRetention, type RetentionDays } from './routes.ts';
import { Accounts } from './store.ts';

const repositories = { accounts: Accounts };

export const accounts: Feature = {
  name: 'accounts',
  repositories,
  prepare: ({ store, clock, config, logger }) => bootstrap(store, clock, config, logger),
  parts: { retentionDays: ({ config }) => configuredRetention(config) },
  routes: [
    ...Object.values(accountRoutes),
    ...Object.values(nextAccountRoutes),
    ...Object.values(apiKeyRoutes),
  ],
  handlers: (parts) => [...accountHandlers(parts), ...apiKeyHandlers(parts)],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    readonly retentionDays: RetentionDays;
  }
}
