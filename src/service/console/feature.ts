import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { LoginSessions } from './login/store.ts';
import { Overviews } from './overview/store.ts';

export const webConsole = defineFeature({
  name: 'console',
  repositories: { logins: LoginSessions, overviews: Overviews },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof webConsole> {}
}
