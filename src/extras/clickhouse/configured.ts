import { toError } from '@picket/lib/errors.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import { ClickHouseServer } from './clickhouse-server.ts';
import type { ClickHouseReadState } from './fed-columns.ts';
import { ClickHouseFeed, type FeedOptions } from './feed.ts';
import { ClickHouseFigures } from './figures.ts';

const dayMs = 86_400_000;

export type ClickHouseDeps = Omit<FeedOptions, 'server' | 'figures' | 'analyticsMs'> & {
  readonly url: string;
  readonly config: Pick<ServiceConfig, 'ANALYTICS_RETENTION_DAYS'>;
  /** The metrics that show its figures. */
  readonly metrics: { clickHouse: ClickHouseFigures | undefined };
};

/** Feeds the configured ClickHouse, and learns from queries whether it is available. */
export function configuredClickHouse({ url, config, metrics, ...deps }: ClickHouseDeps): {
  readonly feed: ClickHouseFeed;
  readonly onRead: (news: ClickHouseReadState) => void;
} {
  const figures = new ClickHouseFigures();
  metrics.clickHouse = figures;
  let isAway = false;
  return {
    feed: new ClickHouseFeed({
      ...{ ...deps, figures },
      server: new ClickHouseServer(url),
      analyticsMs: config.ANALYTICS_RETENTION_DAYS * dayMs,
    }),
    onRead({ problem, lackingCheckId }) {
      if (problem !== null) figures.countFailure('read');
      if (lackingCheckId !== undefined) {
        deps.logger.warn(
          { checkId: lackingCheckId, reason: problem },
          'ClickHouse lost rows; the check is fed again',
        );
        deps.store.fedResults.feedAgain(lackingCheckId).catch((thrown) => {
          deps.logger.warn({ reason: toError(thrown).message }, 'the cursor of the check was not set back');
        });
        return;
      }
      if ((problem !== null) === isAway) return;
      isAway = problem !== null;
      if (problem === null) deps.logger.info('ClickHouse answers analytics again');
      else {
        deps.logger.warn(
          { reason: problem },
          'ClickHouse does not answer; analytics are read from the database',
        );
      }
    },
  };
}
