import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { SloBurns } from './burn-store.ts';

export const slos = defineFeature({
  name: 'slos',
  repositories: { sloBurns: SloBurns },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof slos> {}
}
