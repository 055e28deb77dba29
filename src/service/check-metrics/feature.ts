import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { CheckTotals } from './store.ts';

export const checkMetrics = defineFeature({
  name: 'check-metrics',
  repositories: { checkTotals: CheckTotals },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof checkMetrics> {}
}
