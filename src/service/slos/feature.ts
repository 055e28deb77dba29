import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { SloBurns } from './burn-store.ts';
import { BurnWatch } from './burn-watch.ts';
import { sloHandlers } from './routes.ts';

const repositories = { sloBurns: SloBurns };

export const slos: Feature = {
  name: 'slos',
  repositories,
  handlers: sloHandlers,
  jobs: (parts) => [{ name: 'slo burns', leaderOnly: true, longestMs: 60_000, work: new BurnWatch(parts) }],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}
