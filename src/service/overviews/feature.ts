import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { checkRankingRoutes } from '@picket/protocol/results/check-ranking.ts';
import { Names } from './names.ts';
import { Rankings } from './rankings.ts';
import { overviewHandlers } from './routes.ts';
import { Overviews } from './store.ts';

const repositories = { overviews: Overviews, names: Names };

/** Data for pages that show many checks at once. */
export const overviews: Feature = {
  name: 'overviews',
  repositories,
  parts: { rankings: (parts) => new Rankings(parts) },
  routes: Object.values(checkRankingRoutes),
  handlers: overviewHandlers,
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Figures of all checks of an account, by which they are sorted. */
    readonly rankings: Rankings;
  }
}
