import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertIntoPostgres, insertIntoSqlite } from '../../bench/parts/many-results.ts';
import type { PicketProcess } from '../../helpers/picket-process.ts';
import { type ClickHouse, startClickHouse, whyNoClickHouse } from '../../helpers/service/clickhouse.ts';
import {
  expectSameAnswers,
  feedOf,
  measuredCheck,
  resultsUntil,
  seal,
  tableOf,
} from '../../helpers/service/clickhouse-answers.ts';
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
import { blocksOf } from '../docs/command-blocks.ts';
import { runInShell } from '../docs/shell.ts';

const dayMs = 86_400_000;

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

  it('gives the same results as columns, number for number', async () => {
    const url = await clickHouse.createDatabase();
    const { id, now } = await measuredCheck(service, path, 30_000);
    const feed = feedOf(service, url);
    await feed.turn();
    const fed = await service.store.fedResults.of(id);
    expect(fed?.until).toBe(await service.store.resultColumns.sealedUntil(id));
    await expectSameAnswers({ service, place: { path }, url, id, now });
    const rows = Number(await clickHouse.ask(`select count() from ${await tableOf(service, url)}`));
    expect(rows).toBeGreaterThan(28_000);
    await feed.close();
  });

  it.skipIf(whyNoPostgres() !== null)('gives them for a service on PostgreSQL, too', async () => {
    const url = await clickHouse.createDatabase();
    const databaseUrl = await migratedDatabase();
    const onPostgres = await openHarness({ databaseUrl });
    const check = await createCheck(onPostgres);
    const now = Date.now();
    await insertIntoPostgres(databaseUrl, resultsUntil(now, onPostgres, check.id, 9_000));
    await seal(onPostgres, check.id, now);
    const feed = feedOf(onPostgres, url);
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

  it('gives them for results with several pages each', async () => {
    const url = await clickHouse.createDatabase();
    const check = await createCheck(service);
    const now = Date.now();
    insertIntoSqlite(path, resultsUntil(now, service, check.id, 9_000));
    const database = new DatabaseSync(path);
    // One to three pages, not all of them measured; several results at the same instant.
    database
      .prepare(`update results set created = created - created % 60000, measured = case check_run_id % 3
        when 0 then '[["https://ü.test/\\t''x",{"FCP":' || ((check_run_id % 977) / 8.0) || '}]]'
        when 1 then '[["https://a.test/",{"FCP":1.5,"errors":1}],[null,{}],["https://b.test/",{"FCP":0.1}]]'
        else null end where check_id = ?`)
      .run(check.id);
    database.close();
    await seal(service, check.id, now);
    const feed = feedOf(service, url);
    await feed.turn();
    const items = await clickHouse.ask(
      `select max(item), uniqExact(dimension) from ${await tableOf(service, url)} where check_id = '${check.id}'`,
    );
    expect(items).toBe('2\t4');
    await expectSameAnswers({ service, place: { path }, url, id: check.id, now });
    await feed.close();
  });

  it('counts rows once that were inserted twice because the response was lost', async () => {
    const url = await clickHouse.createDatabase();
    await using gate = await openClickHouseGate(url);
    const { id, now } = await measuredCheck(service, path, 9_000);
    const feed = feedOf(service, gate.url);
    // Without merges both remain for good.
    await clickHouse.ask('system stop merges');
    const lost = gate.next('lose');
    await feed.turn();
    await lost;
    await feed.turn();
    const table = await tableOf(service, url);
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

  it('continues where it stopped, and the database responds while ClickHouse is unavailable', async () => {
    const url = await clickHouse.createDatabase();
    const { id, now } = await measuredCheck(service, path, 9_000);
    const feed = feedOf(service, url);
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

  it('is not used, and fed again, if it has lost rows', async () => {
    const url = await clickHouse.createDatabase();
    const { id, now } = await measuredCheck(service, path, 9_000);
    const feed = feedOf(service, url);
    await feed.turn();
    const table = await tableOf(service, url);
    const lost = new Date(now - 7 * dayMs).toISOString().slice(0, 10).replaceAll('-', '');
    await clickHouse.ask(`alter table ${table} drop partition ${lost}`);
    const heard = await expectSameAnswers({ service, place: { path }, url, id, now, isAway: true });
    expect(heard.map(({ problem }) => problem)).toContainEqual(
      expect.stringMatching(/^it has \d+ of \d+ rows$/),
    );
    expect(heard.map(({ lackingCheckId }) => lackingCheckId)).toContain(id);
    await service.store.fedResults.feedAgain(id);
    await feed.turn();
    await expectSameAnswers({ service, place: { path }, url, id, now });
    await feed.close();
  });

  it('removes deleted and expired rows, and starts over when its table is gone', async () => {
    const url = await clickHouse.createDatabase();
    const { id, now } = await measuredCheck(service, path, 3_000);
    const other = await measuredCheck(service, path, 3_000);
    const feed = feedOf(service, url, 10 * dayMs);
    await service.store.retired.setTrustedUntil(now, 0);
    await feed.turn();
    const table = await tableOf(service, url);
    const oldest = async () => {
      const answer = await clickHouse.ask(`select toInt64(min(created)) from ${table}`);
      return Number(answer) * 1000;
    };
    expect(await oldest()).toBeGreaterThanOrEqual(now - 12 * dayMs);
    expect(await oldest()).toBeLessThan(now - 10 * dayMs);
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
    expect(await tableOf(service, url)).not.toBe(table);
    await feed.close();
  });

  it('is set up as analytics-from-clickhouse.md says', async () => {
    const [setUp = '', query = ''] = blocksOf('docs/how-to/analytics-from-clickhouse.md').map(({ text }) =>
      text.replaceAll('clickhouse:8123', clickHouse.host),
    );
    const [create = '', start = ''] = setUp.trim().split('\n');
    const own = temporaryFolder();
    const environment = { PATH: process.env.PATH ?? '' };
    const made = await runInShell(create, { cwd: own.path, environment });
    expect(made.code, made.output).toBe(0);
    const harness = await openHarness({ folder: own.path });
    const { id } = await measuredCheck(harness, join(own.path, 'picket.sqlite'), 30_000);
    await harness.close();
    const url = /^ANALYTICS_CLICKHOUSE_URL=(\S+) picket service$/.exec(start)?.[1] ?? '';
    const key = 'bootstrap-key-of-the-tests';
    let child: PicketProcess | undefined;
    try {
      const { url: address, process } = await startServiceProcess(
        {
          ...{ BOOTSTRAP_API_KEY: key, METRICS_TOKEN: key, DATA_DIR: own.path },
          ANALYTICS_CLICKHOUSE_URL: url,
        },
        (started) => {
          child = started;
        },
      );
      const table = await until(
        'there is a table',
        () => /"table":"(picket_results_\w+)"/.exec(process.output())?.[1],
      );
      const metrics = await until('rows are fed', async () => {
        const headers = { authorization: `Bearer ${key}` };
        const text = await (await fetch(`${address}/metrics`, { headers })).text();
        return /^picket_clickhouse_rows_total (2[89]|30)\d{3}$/m.test(text) && text;
      });
      expect(metrics).toMatch(/^picket_clickhouse_feed_lag_seconds \d/m);
      expect(metrics).toMatch(/^picket_clickhouse_failures_total\{of="feed"\} 0$/m);
      const asked = query
        .replace(/picket_results_\w+/, `picket.${table}`)
        .replace(/check_id = '[^']+'/, `check_id = '${id}'`)
        .replace('86400', '2 * 86400');
      expect(asked).toContain(id);
      const rows = (await clickHouse.ask(asked)).split('\n').map((line) => line.split('\t'));
      expect(rows.map(([location]) => location).sort()).toEqual(['eu-west-1', 'lab', 'office', 'us-east-1']);
    } finally {
      await child?.kill('SIGKILL');
      own.remove();
    }
  });
});
