import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { memberRoutes } from '@picket/protocol/accounts/member.ts';
import { memberHandlers } from './routes.ts';
import { configuredSingleSignOn, type SingleSignOn } from './single-sign-on.ts';
import { Members } from './store.ts';

const repositories = { members: Members };

export const members: Feature = {
  name: 'members',
  repositories,
  parts: {
    singleSignOn: ({ config }) => configuredSingleSignOn(config),
    sessionMaxMs: ({ config }) => config.SESSION_MAX_HOURS * 3_600_000,
  },
  routes: Object.values(memberRoutes),
  handlers: memberHandlers,
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    readonly singleSignOn: SingleSignOn | undefined;
    /** Maximum lifetime of a session, regardless of use; undefined: the default. */
    readonly sessionMaxMs: number | undefined;
  }
}
