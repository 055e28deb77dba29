import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { retentionJobs } from './jobs.ts';
import { Retired } from './retention-store.ts';

const repositories = { retired: Retired };

export const retention: Feature = {
  name: 'retention',
  repositories,
  jobs: retentionJobs,
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
