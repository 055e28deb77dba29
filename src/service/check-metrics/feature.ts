import type { Feature, RepositoriesOf } from '../../platform/feature/feature.ts';
import { CheckMetrics } from './check-metrics.ts';
import { Folding } from './folding.ts';
import { RemoteWrite } from './remote-write/remote-write.ts';
import { CheckTotals } from './store.ts';

const repositories = { checkTotals: CheckTotals };

export const checkMetrics: Feature = {
  name: 'check-metrics',
  repositories,
  parts: {
    checkMetrics: (parts) => new CheckMetrics(parts),
    remoteWrite: (parts) =>
      parts.config.REMOTE_WRITE_URL === undefined ? undefined : new RemoteWrite(parts),
  },
  jobs: (parts) => [
    {
      ...{ name: 'check totals', leaderOnly: true, longestMs: 60_000 },
      work: new Folding(parts),
    },
    ...(parts.remoteWrite
      ? [{ name: 'remote write', leaderOnly: true, longestMs: 60_000, work: parts.remoteWrite }]
      : []),
  ],
};

declare module '../../platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '../../platform/feature/parts.ts' {
  interface Parts {
    readonly checkMetrics: CheckMetrics;
    /** Undefined where no receiver is configured. */
    readonly remoteWrite: RemoteWrite | undefined;
  }
}
