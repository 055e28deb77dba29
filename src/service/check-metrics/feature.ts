import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import type { RemoteWrite } from '@picket/telemetry/remote-write/remote-write.ts';
import { CheckMetrics } from './check-metrics.ts';
import { Folding } from './folding.ts';
import { CheckTotals } from './store.ts';

const repositories = { checkTotals: CheckTotals };

export const checkMetrics: Feature = {
  name: 'check-metrics',
  repositories,
  parts: {
    checkMetrics: (parts) => new CheckMetrics(parts),
    remoteWrite: async (parts) => {
      if (parts.config.REMOTE_WRITE_URL === undefined) return undefined;
      const { RemoteWrite } = await import('@picket/telemetry/remote-write/remote-write.ts');
      return new RemoteWrite(parts);
    },
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

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    readonly checkMetrics: CheckMetrics;
    /** Undefined if no receiver is configured. */
    readonly remoteWrite: RemoteWrite | undefined;
  }
}
