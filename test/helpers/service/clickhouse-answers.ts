import { expect } from 'vitest';
import { ClickHouseServer } from '../../../src/extras/clickhouse/clickhouse-server.ts';
import type { ClickHouseReadState } from '../../../src/extras/clickhouse/fed-columns.ts';
import { ClickHouseFeed } from '../../../src/extras/clickhouse/feed.ts';
import { ClickHouseFigures } from '../../../src/extras/clickhouse/figures.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import {
  type AnalyticsPlace,
  AnalyticsThread,
} from '../../../src/service/results/analytics/analytics-thread.ts';
import type { AnalyticsQuery, Wanted } from '../../../src/service/results/analytics/series.ts';
import { insertIntoSqlite } from '../../bench/parts/many-results.ts';
import { createCheck, type ServiceHarness } from './service.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The feed of a service to a ClickHouse database. */
export function feedOf({ store }: ServiceHarness, url: string, analyticsMs = 90 * dayMs): ClickHouseFeed {
  const logger = createLogger('test', 'silent');
  const server = new ClickHouseServer(url);
  const figures = new ClickHouseFigures();
  return new ClickHouseFeed({ store, clock: systemClock, logger, server, analyticsMs, figures });
}

/** The table that the feed writes to. */
export async function tableOf({ store }: ServiceHarness, url: string): Promise<string> {
  const feed = await store.fedResults.feed();
  return `${new URL(url).pathname.slice(1)}.picket_results_${feed?.name}`;
}

/** Creates a check with results of the last 30 days and seals all results that can be sealed. */
export async function measuredCheck(service: ServiceHarness, path: string, count: number) {
  const check = await createCheck(service);
  const now = Date.now();
  insertIntoSqlite(path, resultsUntil(now, service, check.id, count));
  await seal(service, check.id, now);
  return { id: check.id as string, now };
}

export function resultsUntil(now: number, { accountId }: ServiceHarness, checkId: string, count: number) {
  const lengthMs = 30 * dayMs;
  return { checkId, accountId, count, fromMs: now - lengthMs, lengthMs: lengthMs - 60_000 };
}

export async function seal({ store }: ServiceHarness, checkId: string, now: number): Promise<void> {
  while (await store.transaction((nouns) => nouns.resultColumns.sealNext(checkId, now))) {
    // Another chunk may follow.
  }
}

interface Compared {
  readonly service: ServiceHarness;
  readonly place: AnalyticsPlace;
  readonly url: string;
  readonly id: string;
  readonly now: number;
  /** ClickHouse does not respond. */
  readonly isAway?: boolean;
}

/** Runs the same queries on the database and on ClickHouse, for windows with critical boundaries. */
export async function expectSameAnswers(compared: Compared): Promise<readonly ClickHouseReadState[]> {
  const { service, place, url, id, now, isAway = false } = compared;
  const heard: ClickHouseReadState[] = [];
  const columns = new AnalyticsThread(place);
  const server = new AnalyticsThread({ ...place, clickHouseUrl: url }, (news) => heard.push(news));
  const fed = await service.store.fedResults.of(id);
  const chunk = await service.store.resultColumns.nextSealed(id, now - 20 * dayMs, ['@time']);
  const [first = 0, second = 0] = chunk?.frame.numbers.get('@time') ?? [];
  const windows = {
    all: [0, now + 1],
    sealed: [now - 20 * dayMs, now - 5 * dayMs],
    'what is not sealed, and a little more': [(fed?.until ?? 0) - hourMs, now],
    'one result': [first, second],
    'up to a border': [first - hourMs, first],
    nothing: [first + 1, second],
  };
  for (const [name, [from = 0, to = 0]] of Object.entries(windows)) {
    for (const query of questions(id, from, to)) {
      const [expected, found] = await Promise.all([columns.ask(query), server.ask(query)]);
      expect(found, `${name}: ${JSON.stringify(query)}`).toEqual(expected);
    }
  }
  if (isAway) expect(heard.filter(({ problem }) => problem !== null).length).toBeGreaterThan(0);
  else expect(new Set(heard.map(({ problem }) => problem))).toEqual(new Set([null]));
  await columns.close();
  await server.close();
  return heard;
}

/** Every kind of value, group, filter and page. */
function* questions(checkId: string, from: number, to: number): Generator<AnalyticsQuery> {
  const metric = (column: string, aggregation: 'avg' | 'p95' | 'stddev' | 'sum' | null): Wanted => ({
    key: `${column}_${aggregation}`,
    of: { kind: 'metric', column, aggregation, isPerItem: false },
  });
  const aggregated: Wanted[] = [
    { key: 'availability', of: { kind: 'availability' } },
    { key: 'retries', of: { kind: 'retries' } },
    ...(['avg', 'p95', 'stddev', 'sum'] as const).map((aggregation) => metric('responseTime', aggregation)),
    metric('dns', 'p95'),
    { key: 'FCP', of: { kind: 'metric', column: 'FCP', aggregation: 'avg', isPerItem: true } },
  ];
  const filters = [
    null,
    { by: 'status', texts: ['failure'] },
    { by: 'dimension', texts: ['404', '503'] },
  ] as const;
  for (const groupBy of [null, 'location', 'dimension', 'item'] as const) {
    for (const intervalMs of [null, hourMs, dayMs]) {
      for (const filter of filters) {
        const base = { checkId, from, to, groupBy, intervalMs, filter };
        yield { ...base, wanted: aggregated, offset: 0, limit: 1000 };
      }
    }
  }
  const raw = [metric('responseTime', null), metric('wait', null)];
  const base = { checkId, from, to, groupBy: null, intervalMs: null, filter: null };
  yield { ...base, wanted: raw, offset: 0, limit: 100 };
  yield { ...base, wanted: raw, offset: 7_001, limit: 100 };
}
