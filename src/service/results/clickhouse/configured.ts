import { toError } from '../../../lib/errors.ts';
import type { ServiceConfig } from '../../../platform/config/config.ts';
import { ClickHouseServer } from './clickhouse-server.ts';
import type { ClickHouseNews } from './fed-columns.ts';
import { ClickHouseFeed, type FeedOptions } from './feed.ts';
import { ClickHouseFigures } from './figures.ts';

const dayMs = 86_400_000;

export type ClickHouseDeps = Omit<FeedOptions, 'server' | 'figures' | 'analyticsMs'> & {
  readonly config: Pick<ServiceConfig, 'ANALYTICS_CLICKHOUSE_URL' | 'ANALYTICS_RETENTION_DAYS'>;
  /** Where its numbers are shown. */
  readonly metrics: { clickHouse: ClickHouseFigures | undefined };
};

/** What feeds the configured ClickHouse, and what hears of questions to it; undefined where there is none. */
export function configuredClickHouse({ config, metrics, ...deps }: ClickHouseDeps):
  | {
      readonly feed: ClickHouseFeed;
      readonly onRead: (news: ClickHouseNews) => void;
    }
  | undefined {
  const { ANALYTICS_CLICKHOUSE_URL: url, ANALYTICS_RETENTION_DAYS: days } = config;
  if (url === undefined) return undefined;
  const figures = new ClickHouseFigures();
  metrics.clickHouse = figures;
  let isAway = false;
  return {
    feed: new ClickHouseFeed({
      ...{ ...deps, figures },
      server: new ClickHouseServer(url),
      analyticsMs: days * dayMs,
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
