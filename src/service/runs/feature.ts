import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { Leases } from './lease-store.ts';
import { Slots } from './slot-store.ts';
import { Runs } from './store.ts';

export const runs = defineFeature({
  name: 'runs',
  repositories: { runs: Runs, slots: Slots, leases: Leases },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof runs> {}
}
