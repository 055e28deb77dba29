import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { Maintenances } from './store.ts';

export const maintenance = defineFeature({
  name: 'maintenance',
  repositories: { maintenances: Maintenances },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof maintenance> {}
}
