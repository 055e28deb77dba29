import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { Members } from './store.ts';

export const members = defineFeature({
  name: 'members',
  repositories: { members: Members },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof members> {}
}
