import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { SlotDays } from './slot-days.ts';

const repositories = { slotDays: SlotDays };

export const coverage: Feature = {
  name: 'coverage',
  repositories,
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
