import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { StoredAnswers } from './idempotency/store.ts';
import { SpentLimits } from './shared-limits/store.ts';

export const http = defineFeature({
  name: 'http',
  repositories: { storedAnswers: StoredAnswers, spentLimits: SpentLimits },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof http> {}
}
