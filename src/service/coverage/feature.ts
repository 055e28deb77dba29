import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { SlotDays } from './slot-days.ts';

export const coverage = defineFeature({
  name: 'coverage',
  repositories: { slotDays: SlotDays },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof coverage> {}
}
