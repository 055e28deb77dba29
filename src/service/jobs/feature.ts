import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { Retired } from './retention-store.ts';

export const jobs = defineFeature({
  name: 'jobs',
  repositories: { retired: Retired },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof jobs> {}
}
