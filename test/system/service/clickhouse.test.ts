import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import {
  type AnalyticsPlace,
  AnalyticsThread,
} from '../../../src/service/results/analytics/analytics-thread.ts';
import type { AnalyticsQuery, Wanted } from '../../../src/service/results/analytics/series.ts';
import { ClickHouseServer } from '../../../src/service/results/clickhouse/clickhouse-server.ts';
import { ClickHouseFeed } from '../../../src/service/results/clickhouse/feed.ts';
import { ClickHouseFigures } from '../../../src/service/results/clickhouse/figures.ts';
import { insertIntoPostgres, insertIntoSqlite } from '../../bench/parts/many-results.ts';
import type { PicketProcess } from '../../helpers/picket-process.ts';
import { type ClickHouse, startClickHouse, whyNoClickHouse } from '../../helpers/service/clickhouse.ts';
import { openClickHouseGate } from '../../helpers/service/clickhouse-gate.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import {
  createCheck,
  openHarness,
  type ServiceHarness,
  temporaryFolder,
  until,
} from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';

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

  const feedOf = (url: string, analyticsMs = ninetyDaysMs, of = service) => {
    const clock = systemClock;
    const logger = createLogger('test', 'silent');
    const server = new ClickHouseServer(url);
    return new ClickHouseFeed({
      ...{ store: of.store, clock, logger, server, analyticsMs },
      figures: new ClickHouseFigures(),
    });
  };

  const tableOf = async (url: string) => {
    const feed = await service.store.fedResults.feed();
    return `${new URL(url).pathname.slice(1)}.picket_results_${feed?.name}`;
  };

  it('gives the same answers as columns do, number for number', async () => {
    const url = await clickHouse.createDatabase();
    const { id, now } = await measuredCheck(service, path, 30_000);
    const feed = feedOf(url);
    await feed.turn();
    const fed = await service.store.fedResults.of(id);
    expect(fed?.until).toBe(await service.store.resultColumns.sealedUntil(id));
    await expectSameAnswers({ service, place: { path }, url, id, now });
    const rows = Number(await clickHouse.ask(`select count() from ${await tableOf(url)}`));
    expect(rows).toBeGreaterThan(28_000);
    await feed.close();
  });

  it.skipIf(whyNoPostgres() !== null)('gives them of a service on PostgreSQL, too', async () => {
    const url = await clickHouse.createDatabase();
    const databaseUrl = await migratedDatabase();
    const onPostgres = await openHarness({ databaseUrl });
    const check = await createCheck(onPostgres);
    const now = Date.now();
    await insertIntoPostgres(databaseUrl, resultsUntil(now, onPostgres, check.id, 9_000));
    await seal(onPostgres, check.id, now);
    const feed = feedOf(url, ninetyDaysMs, onPostgres);
    await feed.turn();
    await expectSameAnswers({
      service: onPostgres,
      place: { databaseUrl, path: '' },
      url,
      id: check.id,
      now,
    });
    await feed.close();
    await onPostgres.close();
  });

  it('gives them of results with several pages each', async () => {
    const url = await clickHouse.createDatabase();
    const check = await createCheck(service);
    const now = Date.now();
    insertIntoSqlite(path, resultsUntil(now, service, check.id, 9_000));
    const database = new DatabaseSync(path);
    // One to three pages, not all of them measured; several results of one instant.
    database
      .prepare(`update results set created = created - created % 60000, measured = case check_run_id % 3
        when 0 then '[["https://ü.test/\\t''x",{"FCP":' || ((check_run_id % 977) / 8.0) || '}]]'
        when 1 then '[["https://a.test/",{"FCP":1.5,"errors":1}],[null,{}],["https://b.test/",{"FCP":0.1}]]'
        else null end where check_id = ?`)
      .run(check.id);
    database.close();
    await seal(service, check.id, now);
    const feed = feedOf(url);
    await feed.turn();
    const items = await clickHouse.ask(`select max(item), uniqExact(dimension) from ${await tableOf(url)}`);
    expect(items).toBe('2\t4');
    await expectSameAnswers({ service, place: { path }, url, id: check.id, now });
    await feed.close();
  });

  it('counts once what was inserted twice because the answer was lost', async () => {
    const url = await clickHouse.createDatabase();
    await using gate = await openClickHouseGate(url);
    const { id, now } = await measuredCheck(service, path, 9_000);
    const feed = feedOf(gate.url);
    // Without merges both stay for good.
    await clickHouse.ask('system stop merges');
    const lost = gate.next('lose');
    await feed.turn();
    await lost;
    await feed.turn();
    const table = await tableOf(url);
    const [count = 0, keys = 0] = (
      await clickHouse.ask(`select count(), uniqExact(place) from ${table} where check_id = '${id}'`)
    )
      .split('\t')
      .map(Number);
    expect(count).toBeGreaterThan(keys);
    await expectSameAnswers({ service, place: { path }, url, id, now });
    await clickHouse.ask('system start merges');
    await feed.close();
  });

  it('goes on where it stopped, and the database answers, while ClickHouse is away', async () => {
    const url = await clickHouse.createDatabase();
    const { id, now } = await measuredCheck(service, path, 9_000);
    const feed = feedOf(url);
    await feed.turn();
    const later = await measuredCheck(service, path, 2_000);
    await clickHouse.kill();
    await feed.turn();
    expect((await service.store.fedResults.of(later.id))?.until ?? 0).toBe(0);
    await expectSameAnswers({ service, place: { path }, url, id, now, isAway: true });
    await clickHouse.start();
    await feed.turn();
    expect((await service.store.fedResults.of(later.id))?.until).toBeGreaterThan(0);
    await expectSameAnswers({ service, place: { path }, url, ...later });
    await feed.close();
  });

  it('removes what is deleted or too old, and begins again when its table is gone', async () => {
    const url = await clickHouse.createDatabase();
    const { id, now } = await measuredCheck(service, path, 3_000);
    const other = await measuredCheck(service, path, 3_000);
    const feed = feedOf(url, 10 * dayMs);
    await service.store.retired.setTrustedUntil(now, 0);
    await feed.turn();
    const table = await tableOf(url);
    const oldest = async () => {
      const answer = await clickHouse.ask(`select toInt64(min(created)) from ${table}`);
      return Number(answer) * 1000;
    };
    expect(await oldest()).toBeGreaterThanOrEqual(now - 11 * dayMs);
    expect(await oldest()).toBeLessThan(now - 9 * dayMs);
    expect((await service.call('DELETE', `/v1/checks/${other.id}`)).status).toBe(204);
    await feed.turn();
    await until('rows of the deleted check are gone', async () => {
      const left = await clickHouse.ask(`select count() from ${table} where check_id = '${other.id}'`);
      return left === '0';
    });
    expect(Number(await clickHouse.ask(`select count() from ${table}`))).toBeGreaterThan(0);
    await clickHouse.ask(`drop table ${table}`);
    await expectSameAnswers({ service, place: { path }, url, id, now, isAway: true });
    await feed.turn();
    expect(await tableOf(url)).not.toBe(table);
    await feed.close();
  });

  it('is fed once, whenever its process is killed', async () => {
    const url = await clickHouse.createDatabase();
    const own = temporaryFolder();
    const ownPath = join(own.path, 'picket.sqlite');
    await using gate = await openClickHouseGate(url);
    const harness = await openHarness({ folder: own.path });
    const checks = [];
    for (const count of [25_000, 9_000, 400]) checks.push(await measuredCheck(harness, ownPath, count));
    const sealed = new Map<string, number>();
    for (const { id } of checks) sealed.set(id, await harness.store.resultColumns.sealedUntil(id));
    await harness.close();
    const processes: PicketProcess[] = [];
    const start = () =>
      startServiceProcess(
        {
          BOOTSTRAP_API_KEY: 'bootstrap-key-of-the-tests',
          DATA_DIR: own.path,
          ANALYTICS_CLICKHOUSE_URL: gate.url,
        },
        (process) => processes.push(process),
      );
    const kill = async () => {
      const child = processes.at(-1)?.child;
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    };
    const isFed = () => {
      const database = new DatabaseSync(ownPath, { readOnly: true });
      const rows = database.prepare('select check_id, fed_until from fed_results').all();
      database.close();
      return rows.filter((row) => sealed.get(String(row.check_id)) === row.fed_until).length === sealed.size;
    };
    try {
      for (const [fate, passing] of [
        ['hold before', 0],
        ['hold after', 0],
        ['hold after', 1],
        ['hold before', 0],
        ['hold after', 0],
      ] as const) {
        const met = gate.next(fate, passing);
        await start();
        await met;
        expect(isFed()).toBe(false);
        await kill();
      }
      const stored = gate.inserts;
      void gate.next('pass');
      await start();
      await until('everything is fed', isFed, 60_000);
      expect(gate.inserts).toBeGreaterThan(stored);
      const log = processes.map((process) => process.output()).join('');
      expect(log).toContain('rows that were inserted behind the cursors are removed');
      expect(log).not.toMatch(/w(&|%26)rd/);
      await kill();
      const again = await openHarness({ folder: own.path });
      for (const { id, now } of checks) {
        await expectSameAnswers({ service: again, place: { path: ownPath }, url, id, now });
        const feed = await again.store.fedResults.feed();
        const table = `${new URL(url).pathname.slice(1)}.picket_results_${feed?.name}`;
        const rows = await clickHouse.ask(`select count() from ${table} final where check_id = '${id}'`);
        const until = sealed.get(id) ?? 0;
        const { frame } = await again.store.resultColumns.readSealed(id, { from: 0, to: until }, new Set());
        expect(Number(rows)).toBe(frame.rowCount);
      }
      await again.close();
    } finally {
      await kill();
      own.remove();
    }
  });
});

/** A check with results of the last 30 days, of which those are sealed that may be. */
async function measuredCheck(service: ServiceHarness, path: string, count: number) {
  const check = await createCheck(service);
  const now = Date.now();
  insertIntoSqlite(path, resultsUntil(now, service, check.id, count));
  await seal(service, check.id, now);
  return { id: check.id as string, now };
}

function resultsUntil(now: number, { accountId }: ServiceHarness, checkId: string, count: number) {
  const lengthMs = 30 * dayMs;
  return { checkId, accountId, count, fromMs: now - lengthMs, lengthMs: lengthMs - 60_000 };
}

async function seal({ store }: ServiceHarness, checkId: string, now: number): Promise<void> {
  while (await store.transaction((nouns) => nouns.resultColumns.sealNext(checkId, now))) {
    // The next chunk.
  }
}

interface Compared {
  readonly service: ServiceHarness;
  readonly place: AnalyticsPlace;
  readonly url: string;
  readonly id: string;
  readonly now: number;
  /** ClickHouse gives no answer. */
  readonly isAway?: boolean;
}

/** Asks the same of the database and of ClickHouse, in windows whose borders are where they matter. */
async function expectSameAnswers({ service, place, url, id, now, isAway = false }: Compared): Promise<void> {
  const heard: (string | null)[] = [];
  const columns = new AnalyticsThread(place);
  const server = new AnalyticsThread({ ...place, clickHouseUrl: url }, (problem) => heard.push(problem));
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
    const checks = [{ id, checkType: 'URL' }];
    expect(await server.report(checks, { from, to })).toEqual(await columns.report(checks, { from, to }));
  }
  if (isAway) expect(heard.filter((problem) => problem !== null).length).toBeGreaterThan(0);
  else expect(new Set(heard)).toEqual(new Set([null]));
  await columns.close();
  await server.close();
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
