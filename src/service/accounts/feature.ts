import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { Accounts } from './store.ts';

export const accounts = defineFeature({
  name: 'accounts',
  repositories: { accounts: Accounts },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof accounts> {}
}
