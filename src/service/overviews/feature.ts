import type { Feature, RepositoriesOf } from '../../platform/feature/feature.ts';
import { Overviews } from './store.ts';

const repositories = { overviews: Overviews };

/** What pages show of many checks at once. */
export const overviews: Feature = { name: 'overviews', repositories };

declare module '../../platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
