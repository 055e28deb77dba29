import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { Names } from './names.ts';
import { Overviews } from './store.ts';

const repositories = { overviews: Overviews, names: Names };

/** Data for pages that show many checks at once. */
export const overviews: Feature = { name: 'overviews', repositories };

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
