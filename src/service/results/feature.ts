import { checkTypes } from '@picket/checks/index.ts';
import type { configuredClickHouse } from '@picket/clickhouse/configured.ts';
import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import {
  agentBundleRoutes,
  clientStorageRoutes,
  codeBundleRoutes,
} from '@picket/protocol/agent/code-bundle.ts';
import { checkStatusRoutes } from '@picket/protocol/checks/check-status.ts';
import { analyticsRoutes, typedAnalyticsRoute } from '@picket/protocol/results/analytics.ts';
import { artifactRoutes, assetRoutes } from '@picket/protocol/results/artifact.ts';
import { checkResultRoutes } from '@picket/protocol/results/check-result.ts';
import { errorGroupRoutes } from '@picket/protocol/results/error-group.ts';
import { reportingRoutes } from '@picket/protocol/results/reporting.ts';
import { AnalyticsThread } from './analytics/analytics-thread.ts';
import { analyticsHandlers } from './analytics/routes.ts';
import { artifactHandlers, assetHandlers } from './artifacts/routes.ts';
import { Artifacts } from './artifacts/store.ts';
import { codeBundleHandlers } from './bundles/routes.ts';
import { CodeBundles } from './bundles/store.ts';
import { ResultColumns } from './columns/result-columns.ts';
import { DetailCounts } from './details/detail-counts.ts';
import { errorGroupHandlers } from './error-groups/routes.ts';
import { ErrorGroups } from './error-groups/store.ts';
import { FedResults } from './fed-results.ts';
import { Ingest } from './ingest.ts';
import { reportingHandlers } from './reports/routes.ts';
import { Reports } from './reports/store.ts';
import { checkResultHandlers } from './routes.ts';
import { checkStatusHandlers } from './status-routes.ts';
import { Statuses } from './status-store.ts';
import { Results } from './store.ts';

const repositories = {
  codeBundles: CodeBundles,
  results: Results,
  detailCounts: DetailCounts,
  resultColumns: ResultColumns,
  fedResults: FedResults,
  statuses: Statuses,
  artifacts: Artifacts,
  reports: Reports,
  errorGroups: ErrorGroups,
};

export const results: Feature = {
  name: 'results',
  repositories,
  parts: {
    codeBundleQuotaBytes: ({ config }) => config.CODE_BUNDLE_QUOTA_BYTES,
    clickHouse: async (parts) => {
      const { ANALYTICS_CLICKHOUSE_URL: url } = parts.config;
      if (url === undefined) return undefined;
      return (await import('@picket/clickhouse/configured.ts')).configuredClickHouse({ ...parts, url });
    },
    analytics: ({ storePlace, caCertificates, config, clickHouse }, closing) => {
      const place = { ...storePlace, clickHouseUrl: config.ANALYTICS_CLICKHOUSE_URL, caCertificates };
      const thread = new AnalyticsThread(place, clickHouse?.onRead);
      closing.defer(() => thread.close());
      return thread;
    },
    ingest: ({ config, traces, ...parts }) =>
      new Ingest({
        ...parts,
        onStored: traces && ((stored) => traces.offer(stored)),
        everyNthPass: config.DETAIL_OF_EVERY_NTH_PASS,
      }),
  },
  connect: ({ metrics, analytics }) => {
    metrics.analytics = analytics;
    metrics.queues.push(analytics);
  },
  routes: [
    ...Object.values(checkResultRoutes),
    ...Object.values(assetRoutes),
    ...Object.values(codeBundleRoutes),
    ...Object.values(clientStorageRoutes),
    ...Object.values(checkStatusRoutes),
    ...Object.values(errorGroupRoutes),
    ...Object.values(analyticsRoutes),
    ...checkTypes.map(typedAnalyticsRoute),
    ...Object.values(reportingRoutes),
    ...Object.values(artifactRoutes),
    ...Object.values(agentBundleRoutes),
  ],
  handlers: (parts) => [
    ...checkResultHandlers(parts),
    ...assetHandlers(parts),
    ...checkStatusHandlers(parts),
    ...errorGroupHandlers(parts),
    ...analyticsHandlers(parts),
    ...reportingHandlers(parts),
    ...artifactHandlers(parts),
    ...codeBundleHandlers(parts),
  ],
  jobs: ({ clickHouse }) =>
    clickHouse
      ? [{ name: 'feed of ClickHouse', leaderOnly: true, longestMs: 60_000, work: clickHouse.feed }]
      : [],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Limit of bytes for code bundles of an account; undefined: the default. */
    readonly codeBundleQuotaBytes: number | undefined;
    /** Undefined if no ClickHouse is configured. */
    readonly clickHouse: ReturnType<typeof configuredClickHouse> | undefined;
    /** Thread that computes reports and charts. */
    readonly analytics: AnalyticsThread;
    readonly ingest: Ingest;
  }
}
