import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { Heartbeats } from './store.ts';

export const heartbeats = defineFeature({
  name: 'heartbeats',
  repositories: { heartbeats: Heartbeats },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof heartbeats> {}
}
