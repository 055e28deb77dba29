import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { AnalyticsThread } from '../../../src/service/results/analytics/analytics-thread.ts';
import type { AnalyticsQuery, Wanted } from '../../../src/service/results/analytics/series.ts';
import { ClickHouseServer } from '../../../src/service/results/clickhouse/clickhouse-server.ts';
import { ClickHouseFeed } from '../../../src/service/results/clickhouse/feed.ts';
import { ClickHouseFigures } from '../../../src/service/results/clickhouse/figures.ts';
import { insertIntoSqlite } from '../../bench/parts/many-results.ts';
import { type ClickHouse, startClickHouse, whyNoClickHouse } from '../../helpers/service/clickhouse.ts';
import {
  createCheck,
  openHarness,
  type ServiceHarness,
  temporaryFolder,
} from '../../helpers/service/service.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const ninetyDaysMs = 90 * dayMs;

describe.skipIf(whyNoClickHouse() !== null)('analytics from ClickHouse', { timeout: 240_000 }, () => {
  let clickHouse: ClickHouse;
  const folder = temporaryFolder();
  const path = join(folder.path, 'picket.sqlite');
  let service: ServiceHarness;

  beforeAll(async () => {
    clickHouse = await startClickHouse();
    service = await openHarness({ folder: folder.path });
  }, 120_000);

  afterAll(async () => {
    await service.close();
    await clickHouse[Symbol.asyncDispose]();
    folder.remove();
  });

  const feedOf = (url: string) => {
    const figures = new ClickHouseFigures();
    const feed = new ClickHouseFeed({
      ...{ store: service.store, clock: systemClock, logger: createLogger('test', 'silent'), figures },
      server: new ClickHouseServer(url),
      analyticsMs: ninetyDaysMs,
    });
    return feed;
  };

  /** A check with results up to a minute ago, of which those are sealed that may be. */
  const measuredCheck = async (count: number, lengthMs: number) => {
    const check = await createCheck(service);
    const now = Date.now();
    insertIntoSqlite(path, {
      ...{ checkId: check.id, accountId: service.accountId, count },
      ...{ fromMs: now - lengthMs, lengthMs: lengthMs - 60_000 },
    });
    while (await service.store.transaction((nouns) => nouns.resultColumns.sealNext(check.id, now))) {
      // The next chunk.
    }
    return { id: check.id as string, now };
  };

  it('gives the same answers as columns do, number for number', async () => {
    const url = await clickHouse.createDatabase();
    const { id, now } = await measuredCheck(30_000, 30 * dayMs);
    const feed = feedOf(url);
    await feed.turn();
    const fed = await service.store.fedResults.of(id);
    expect(fed?.until).toBe(await service.store.resultColumns.sealedUntil(id));
    const table = `${new URL(url).pathname.slice(1)}.picket_results_${fed?.feed}`;
    const heard: (string | null)[] = [];
    const columns = new AnalyticsThread({ path });
    const server = new AnalyticsThread({ path, clickHouseUrl: url }, (problem) => heard.push(problem));
    const chunk = await service.store.resultColumns.nextSealed(id, now - 20 * dayMs, ['@time']);
    const [first = 0, second = 0] = chunk?.frame.numbers.get('@time') ?? [];
    const windows = {
      all: [0, now + 1],
      sealed: [now - 20 * dayMs, now - 10 * dayMs],
      'what is not sealed': [(fed?.until ?? 0) - 1, now],
      'one result': [first, second],
      'up to a border': [first - hourMs, first],
      nothing: [first + 1, second],
    };
    for (const [name, [from = 0, to = 0]] of Object.entries(windows)) {
      for (const query of questions(id, from, to)) {
        const [expected, found] = await Promise.all([columns.ask(query), server.ask(query)]);
        expect(found, `${name}: ${JSON.stringify(query)}`).toEqual(expected);
      }
      const checks = [{ id, checkType: 'URL' }];
      expect(await server.report(checks, { from, to })).toEqual(await columns.report(checks, { from, to }));
    }
    expect(new Set(heard)).toEqual(new Set([null]));
    expect(Number(await clickHouse.ask(`select count() from ${table}`))).toBeGreaterThan(28_000);
    await columns.close();
    await server.close();
    await feed.close();
  });
});

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
  yield { ...base, wanted: raw, offset: 17_001, limit: 100 };
}
