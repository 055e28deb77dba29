import { loginSessionRoutes } from '../../protocol/accounts/member.ts';
import type { Feature, RepositoriesOf } from '../feature/feature.ts';
import { loginSessionHandlers } from './routes.ts';
import { LoginSessions } from './store.ts';

const repositories = { logins: LoginSessions };

export const logins: Feature = {
  name: 'logins',
  repositories,
  routes: Object.values(loginSessionRoutes),
  handlers: loginSessionHandlers,
};

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
