import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { Retired } from './retention-store.ts';

export const retention = defineFeature({
  name: 'retention',
  repositories: { retired: Retired },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof retention> {}
}
