import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { loginSessionRoutes } from '@picket/protocol/accounts/member.ts';
import { loginSessionHandlers } from './routes.ts';
import { LoginSessions } from './store.ts';

const repositories = { logins: LoginSessions };

export const logins: Feature = {
  name: 'logins',
  repositories,
  routes: Object.values(loginSessionRoutes),
  handlers: loginSessionHandlers,
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
