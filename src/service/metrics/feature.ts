import type { Feature } from '@picket/platform/feature/feature.ts';
import { ServiceMetrics } from './metrics.ts';
import { addMetricsRoute } from './route.ts';

export const metrics: Feature = {
  name: 'metrics',
  parts: {
    metrics: () => new ServiceMetrics(),
    metricsToken: ({ config }) => config.METRICS_TOKEN,
  },
  connect: ({ metrics, artifactStore, store }) => {
    metrics.artifactStore = artifactStore;
    if (store.turns) metrics.queues.push(store.turns);
  },
  serve: addMetricsRoute,
};

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    readonly metrics: ServiceMetrics;
    /** Bearer token with access to every account; undefined: no such token. */
    readonly metricsToken: string | undefined;
  }
}
