import { ClickHouseServer } from '../../../src/extras/clickhouse/clickhouse-server.ts';
import { ClickHouseFeed } from '../../../src/extras/clickhouse/feed.ts';
import { ClickHouseFigures } from '../../../src/extras/clickhouse/figures.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import type { Store } from '../../../src/platform/store/store.ts';
import type { Aggregation } from '../../../src/protocol/results/analytics.ts';
import {
  type AnalyticsPlace,
  AnalyticsThread,
} from '../../../src/service/results/analytics/analytics-thread.ts';
import type { AnalyticsQuery, Wanted } from '../../../src/service/results/analytics/series.ts';
import { startClickHouse } from '../../helpers/service/clickhouse.ts';
import { quantile } from '../report.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const endings = ['avg', 'max', 'median', 'min', 'p50', 'p90', 'p95', 'p99', 'stddev', 'sum'] as const;

const metric = (column: string, aggregation: Aggregation): Wanted => ({
  key: `${column}_${aggregation}`,
  of: { kind: 'metric', column, aggregation, isPerItem: false },
});
const responseTimes = (...aggregations: Aggregation[]) =>
  aggregations.map((aggregation) => metric('responseTime', aggregation));

type Asked = Partial<AnalyticsQuery> & Pick<AnalyticsQuery, 'wanted'>;

const questions: readonly (readonly [string, Asked])[] = [
  ['p95', { wanted: responseTimes('p95') }],
  [
    'nine figures by location',
    {
      groupBy: 'location',
      wanted: [
        ...responseTimes('avg', 'min', 'max', 'p50', 'p90', 'p95', 'p99', 'stddev'),
        { key: 'availability', of: { kind: 'availability' } },
      ],
    },
  ],
  ['p50, p95, p99 by hour', { intervalMs: hourMs, wanted: responseTimes('p50', 'p95', 'p99') }],
  ['p95 of the last 24 hours', { wanted: responseTimes('p95'), from: Date.now() - dayMs }],
  [
    'all 60 metrics at once',
    {
      wanted: ['responseTime', 'wait', 'dns', 'tcp', 'firstByte', 'download'].flatMap((column) =>
        endings.map((ending) => metric(column, ending)),
      ),
    },
  ],
];

export interface Compared {
  /** For each query: its name, and the milliseconds of both sources: the first, p50 and p95. */
  readonly rows: readonly {
    readonly question: string;
    readonly source: string;
    readonly ms: readonly number[];
  }[];
  readonly feedMs: number;
  readonly bytes: number;
}

/**
 * Sends the same queries about sealed results to the analytics threads, in turns: one reads columns of the database,
 * which stay in its memory, the other reads ClickHouse. Throws if a result differs.
 */
export async function compareWithClickHouse(options: {
  readonly store: Store;
  readonly place: AnalyticsPlace;
  readonly checkId: string;
  readonly rounds: number;
}): Promise<Compared> {
  const { store, place, checkId, rounds } = options;
  await using clickHouse = await startClickHouse();
  const clickHouseUrl = await clickHouse.createDatabase();
  const feed = new ClickHouseFeed({
    ...{
      store,
      clock: systemClock,
      logger: createLogger('bench', 'silent'),
      figures: new ClickHouseFigures(),
    },
    ...{ server: new ClickHouseServer(clickHouseUrl), analyticsMs: 400 * dayMs },
  });
  const start = performance.now();
  await feed.turn();
  const feedMs = performance.now() - start;
  await feed.close();
  const bytes = Number(await clickHouse.ask('select sum(bytes_on_disk) from system.parts where active'));
  const rows = [];
  for (const [question, asked] of questions) {
    const query: AnalyticsQuery = {
      ...{ checkId, from: 0, to: Date.now(), groupBy: null, intervalMs: null, filter: null },
      ...{ offset: 0, limit: 1000, ...asked },
    };
    const problems: string[] = [];
    const sources = [
      { source: 'columns', thread: new AnalyticsThread(place), ms: [] as number[] },
      {
        source: 'ClickHouse',
        thread: new AnalyticsThread(
          { ...place, clickHouseUrl },
          ({ problem }) => problem && problems.push(problem),
        ),
        ms: [] as number[],
      },
    ];
    // An empty query starts the threads.
    for (const { thread } of sources) await thread.ask({ ...query, to: 1 });
    for (let round = 0; round <= rounds; round += 1) {
      const answers = [];
      for (const { thread, ms } of round % 2 === 0 ? sources : sources.toReversed()) {
        const asked = performance.now();
        answers.push(JSON.stringify(await thread.ask(query)));
        ms.push(performance.now() - asked);
      }
      if (answers[0] !== answers[1]) throw new Error(`${question}: the answers differ`);
    }
    if (problems.length > 0) throw new Error(problems[0]);
    for (const { source, thread, ms } of sources) {
      const [first = 0, ...others] = ms;
      rows.push({ question, source, ms: [first, quantile(others, 0.5), quantile(others, 0.95)] });
      await thread.close();
    }
  }
  return { rows, feedMs, bytes };
}
