import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { connectPostgres } from '../../../src/platform/store/engine/connect-postgres.ts';
import { type Connection, connectSqlite } from '../../../src/platform/store/engine/dialect.ts';
import { failureDetails, resultDays, runDays } from '../../../src/platform/store/schema/ledger-migration.ts';
import { migrate } from '../../../src/platform/store/schema/migrate.ts';
import { migrations } from '../../../src/platform/store/schema/migrations.ts';
import { resourceMigrations } from '../../../src/service/resources/index.ts';
import { freePort } from '../../helpers/free-port.ts';
import { isNight } from '../../helpers/night.ts';
import { answersOk, type PicketProcess, startPicket, until } from '../../helpers/picket-process.ts';
import { createDatabase, whyNoPostgres } from '../../helpers/service/postgres.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();
const [resultCount, runCount, kills] = isNight ? [200_000, 20_000, 10] : [40_000, 4_000, 3];
/** The range of random kill times after the work has begun: about as long as the work takes without interruption. */
const workMs = isNight ? 2_000 : 150;
const key = 'ak_00000000000000000000000000000001';
const sequence = (engine: 'postgres' | 'sqlite') =>
  engine === 'postgres'
    ? `with counted (n) as (select generate_series(0, ${resultCount - 1}::bigint))`
    : `with recursive counted (n) as (select 0 union all select n + 1 from counted where n < ${resultCount - 1})`;

/** Results of the last 28 days, and runs of the newest of them, as in a store of the previous version. */
function oldRows(engine: 'postgres' | 'sqlite'): string[] {
  const [from, stepMs] = [Date.now() - 28 * 86_400_000, Math.floor((28 * 86_400_000) / resultCount)];
  const at = `(${from} + n * ${stepMs})`;
  return [
    `${sequence(engine)} insert into results (id, run_id, account_id, check_id, check_type, run_location, result_type,
      has_failures, has_errors, message, response_time, started, stopped, created, attempts, sequence_id, check_run_id,
      slot_at, start_delay, agent_lag, agent_id, error_messages, measured)
    select 'result-' || n, 'run-' || n, 'account', 'old-' || (n % 100), 'URL', 'lab', 'FINAL', 0, 0,
      '${'x'.repeat(600)}', n % 400, ${at}, ${at}, ${at}, 0, 's', n, ${at}, 1, 0, 'agent', '[]',
      '[[200,{"responseTime":20,"wait":0,"dns":1,"tcp":2,"firstByte":15,"download":2}]]' from counted`,
    `insert into runs (id, account_id, check_id, check_type, lane, location, slot_location, slot_at, slot_count, state,
      attempt, freshness_ms, ready_at, expires_at, lease_number, deaths, sequence_id, check_run_id, created, ended)
    select run_id, account_id, check_id, check_type, 'probe', 'lab', 'lab', slot_at, 1, 'final', 0, 0, 0, 0, 1, 0, 's',
      check_run_id, created, created from results where check_run_id >= ${resultCount - runCount}`,
  ];
}

interface OldStore {
  /** The environment of the service with its next copy. */
  copy(): Promise<Readonly<Record<string, string>>>;
  /** Returns one row of a query on the copy. */
  ask(query: string): Promise<Record<string, unknown>>;
  /** Reads the results in a transaction that lasts until it is disposed: the conversion cannot finish before. */
  hold(): Promise<AsyncDisposable>;
  /** Whether the conversion of the copy is done. */
  isDone(): Promise<boolean>;
  close(): Promise<void>;
}

/** The last migration that adds a column to a converted table. */
const lastMigration = failureDetails.name;

/** Creates the schema of a previous version, without the migrations under test. */
async function migrateBefore({ db, dialect }: Connection): Promise<void> {
  const before = [...migrations, ...resourceMigrations].filter(({ name }) => name < resultDays.name);
  await migrate(db, dialect, before);
  await db.destroy();
}

async function oldPostgres(): Promise<OldStore> {
  const template = await emptyDatabase();
  await migrateBefore(connectPostgres({ databaseUrl: template, onPoolError: () => undefined }));
  const filling = new pg.Client({ connectionString: template });
  await filling.connect();
  for (const statement of oldRows('postgres')) await filling.query(statement);
  await filling.end();
  let copy = template;
  const maintenance = template.replace(/[^/]+$/, 'postgres');
  const dropCopy = async () => {
    if (copy === template) return;
    const client = new pg.Client({ connectionString: maintenance });
    await client.connect();
    await client.query(`drop database ${new URL(copy).pathname.slice(1)} with (force)`);
    await client.end();
  };
  const ask = async (query: string) => {
    const client = new pg.Client({ connectionString: copy });
    await client.connect();
    const { rows } = await client.query(query);
    await client.end();
    return rows[0] ?? {};
  };
  return {
    copy: async () => {
      await dropCopy();
      copy = await createDatabase(maintenance, new URL(template).pathname.slice(1));
      return { DATABASE_URL: copy };
    },
    ask,
    hold: async () => {
      // Columns of later versions exist: the reader delays only the conversion.
      const isMigrated = `select count(*) as n from schema_migrations where name = '${lastMigration}'`;
      await until('the schema is up to date', async () => Number((await ask(isMigrated)).n) > 0);
      const client = new pg.Client({ connectionString: copy });
      await client.connect();
      await client.query('begin isolation level repeatable read; select from results limit 1');
      return { [Symbol.asyncDispose]: () => client.end() };
    },
    isDone: async () => {
      const divided = `select count(*) as n from pg_class where relname in ('results', 'runs') and relkind = 'p'`;
      return Number((await ask(divided)).n) === 2;
    },
    close: dropCopy,
  };
}

async function oldSqlite(): Promise<OldStore> {
  const folder = mkdtempSync(join(tmpdir(), 'picket-old-'));
  const template = join(folder, 'template.sqlite');
  await migrateBefore(connectSqlite(template, () => undefined));
  const filling = new DatabaseSync(template);
  filling.exec('pragma synchronous = off');
  for (const statement of oldRows('sqlite')) filling.exec(statement);
  filling.exec('pragma wal_checkpoint(truncate)');
  filling.close();
  const path = join(folder, 'picket.sqlite');
  const ask = async (query: string): Promise<Record<string, unknown>> => {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      return database.prepare(query).get() ?? {};
    } finally {
      database.close();
    }
  };
  return {
    copy: async () => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
      copyFileSync(template, path);
      return { DATA_DIR: folder };
    },
    ask,
    hold: async () => ({ [Symbol.asyncDispose]: async () => undefined }),
    isDone: async () =>
      Number((await ask(`select count(*) as n from schema_migrations where name = '${runDays.name}'`)).n) > 0,
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Values of the old rows that must never change. */
const sums = `select (select count(*) from results where check_id like 'old-%') as results,
  (select count(distinct id) from results where check_id like 'old-%') as ids,
  (select sum(check_run_id) from results where check_id like 'old-%') as numbers,
  (select sum(created % 1000003) from results where check_id like 'old-%') as instants,
  (select count(*) from runs where check_id like 'old-%') as runs,
  (select sum(check_run_id) from runs where check_id like 'old-%') as of_runs`;

const figures: string[] = [];

async function killAndJudge(engine: string, store: OldStore): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'picket-division-'));
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  let place = await store.copy();
  const before = await store.ask(sums);
  expect(Number(before.results)).toBe(resultCount);
  let process: PicketProcess | undefined;
  let pinged = 0;
  let ping: string | undefined;
  const startMs: number[] = [];
  const pingMs: number[] = [];
  const hits: string[] = [];
  const spawn = () =>
    startPicket(['service'], {
      ...{ PORT: port, HOST: '127.0.0.1', BOOTSTRAP_API_KEY: key, RATE_LIMIT_PER_MINUTE: '0' },
      ...{ DATA_DIR: dataDir, LOG_LEVEL: 'info' },
      ...place,
    });
  const start = async () => {
    const spawnedMs = performance.now();
    process = spawn();
    await until('the service is ready', () => answersOk(`${url}/-/readiness`), { process });
    startMs.push(performance.now() - spawnedMs);
    return process;
  };
  /** Stores results while no kill happens: each ping is one. */
  const pingUntil = async (isOver: () => Promise<boolean> | boolean) => {
    ping ??= await heartbeat(url);
    while (!(await isOver())) {
      const sentMs = performance.now();
      const answer = await fetch(`${url}${ping}`, { signal: AbortSignal.timeout(30_000) });
      await answer.arrayBuffer();
      if (answer.ok) pinged += 1;
      expect(answer.status).toBe(200);
      pingMs.push(performance.now() - sentMs);
      await delay(5);
    }
  };
  const judge = async () => {
    expect(await store.ask(sums)).toEqual(before);
    const { n } = await store.ask(`select count(*) as n from results where check_type = 'HEARTBEAT'`);
    expect(Number(n)).toBeGreaterThanOrEqual(pinged);
    const { doubled } = await store.ask(`select count(*) as doubled from (
      select run_id from results where result_type = 'FINAL' group by run_id having count(*) > 1) as d`);
    expect(Number(doubled)).toBe(0);
  };
  try {
    for (let kill = 0; hits.length < kills; kill += 1) {
      if (await store.isDone()) {
        await judge();
        place = await store.copy();
        [pinged, ping] = [0, undefined];
      }
      process = spawn();
      // The first kill hits the middle for certain.
      await using _held = kill === 0 ? await store.hold() : undefined;
      const { output } = process;
      if (engine === 'PostgreSQL')
        await until('it is at work', () => output().includes('to daily partitions'), { process });
      // SQLite has nothing to convert: its migrations are done before the service is ready.
      await delay(Math.random() * (engine === 'SQLite' ? Math.min(workMs, 1_000) : workMs));
      // One is asked to stop, which does not wait for the work either.
      if (kill === 0 && engine === 'PostgreSQL')
        expect(await process.kill('SIGTERM')).toMatchObject({ code: 0 });
      else await process.kill('SIGKILL');
      const line = output()
        .split('\n')
        .findLast((text) => /to daily partitions|partitions by day/.test(text));
      const at =
        /converting (?:results|runs)|(?:results|runs) (?:become partitions by day: (?:reading|buil\w+ an index)|are partitions)/.exec(
          line ?? '',
        )?.[0] ?? 'at the start';
      // A kill after the end of the work hit nothing. On a busy machine most of them hit an index while it is built.
      if (/^converting|become/.test(at) || engine === 'SQLite') hits.push(at);
      await judge();
    }
    const last = await start();
    await pingUntil(() => store.isDone());
    await pingUntil(() => pinged > 50);
    await last.kill('SIGTERM');
    await judge();
    // The last one again, without a kill: its duration, and whether clients wait meanwhile.
    place = await store.copy();
    [pinged, ping] = [0, undefined];
    const whole = await start();
    const wholeMs = performance.now();
    await pingUntil(() => store.isDone());
    figures.push(`${engine}: converted in ${Math.round(performance.now() - wholeMs)} ms while serving`);
    await pingUntil(() => pinged > 50);
    await whole.kill('SIGTERM');
    await judge();
    const slowest = Math.max(...pingMs);
    figures.push(
      `${engine}: ${kills} kills, at: ${[...Map.groupBy(hits, (hit) => hit)].map(([at, all]) => `${all.length} × ${at}`).join('; ')}`,
      `${engine}: ready ${Math.round(Math.max(...startMs))} ms after a start at most, the slowest of ${pingMs.length} pings meanwhile took ${slowest.toFixed(0)} ms`,
    );
    if (isNight) console.info(figures.join('\n'));
  } finally {
    await process?.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Creates a heartbeat check. Returns the path of its pings. */
async function heartbeat(url: string): Promise<string> {
  const answer = await fetch(`${url}/v1/checks/heartbeat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'a job',
      heartbeat: { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'hours' },
    }),
  });
  const body = (await answer.json()) as { heartbeat: { pingUrl: string } };
  return new URL(body.heartbeat.pingUrl, url).pathname;
}

const longMs = 3_600_000;

describe(`a store with ${resultCount} results of the previous version, killed ${kills} times while it is converted`, () => {
  it.skipIf(noPostgres !== null)(
    `loses nothing on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`,
    async () => {
      const store = await oldPostgres();
      await killAndJudge('PostgreSQL', store).finally(() => store.close());
    },
    longMs,
  );

  it(
    'loses nothing on SQLite',
    async () => {
      const store = await oldSqlite();
      await killAndJudge('SQLite', store).finally(() => store.close());
    },
    longMs,
  );
});
