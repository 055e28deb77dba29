import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import {
  cpuMsOf,
  createLocation,
  type RunningService,
  startServiceProcess,
} from '../helpers/picket-process.ts';
import { startPostgres } from '../helpers/service/postgres.ts';
import { copyChecks } from './parts/many-checks.ts';
import { type Bench, type BenchRun, bothEngines, choicesOption, numberOption, quantile } from './report.ts';

/** Runs a statement; returns the number in its first column, if there is one. */
type Sql = (text: string) => Promise<number>;

interface Stage {
  readonly name: string;
  readonly key: 'sqlite' | 'postgres';
  readonly services: readonly RunningService[];
  readonly sql: Sql;
  readonly databaseCpuMs: () => number;
  close(): Promise<void>;
}

const minuteMs = 60_000;

const stages = { sqlite: sqliteStage, postgres: postgresStage };

const bench: Bench = {
  usage: '[--checks=10000] [--rounds=5] [--engine=sqlite|postgres] [--services=1]',
  title: 'The scheduler: slots turned into runs a second',
  async run(run) {
    const rows: string[][] = [];
    const figures: Record<string, string | number> = {};
    const engines = choicesOption(run, 'engine', bothEngines);
    for (const engine of engines) {
      const stage = await stages[engine](numberOption(run, 'services', 1));
      try {
        await measure(run, stage, rows, figures);
      } finally {
        await stage.close();
      }
    }
    return {
      columns: ['engine', 'round', 'slots', 'slots/s', 'CPU of the service (µs/slot)', 'of the database'],
      rows,
      notes: [
        'All checks are made due at once, as after a minute without the service. A slot counts when its run stands in the ledger and its check was moved on, in one transaction. No agent takes the runs. Commits wait for the disk; service and database share the cores.',
      ],
      figures,
    };
  },
};
export default bench;

async function measure(
  run: BenchRun,
  stage: Stage,
  rows: string[][],
  figures: Record<string, string | number>,
): Promise<void> {
  const { name, key, services, sql } = stage;
  const [service] = services;
  if (!service) throw new Error('no service');
  const cpu = async () => sum(await Promise.all(services.map(({ process }) => cpuMsOf(process.pid))));
  const checks = numberOption(run, 'checks', 10_000);
  await createLocation(service, 'lab');
  const template = await service.api<{ id: string }>('POST', '/v1/checks/url', {
    name: 'template',
    frequency: 1,
    privateLocations: ['lab'],
    request: { url: 'https://shop.example.com/' },
  });
  await copyChecks({ engine: key, templateId: template.id, count: checks - 1, run: sql });
  const rates: number[] = [];
  const costs: number[] = [];
  for (let round = 0; round <= numberOption(run, 'rounds', 5); round += 1) {
    await sql('delete from runs');
    const cpuBefore = await cpu();
    const databaseBefore = stage.databaseCpuMs();
    const dueMs = Date.now();
    await sql(`update checks set next_slot_at = ${dueMs - minuteMs}`);
    const isDue = `select count(*) from check_slots where next_slot_at <= ${dueMs}`;
    // The scheduler sleeps until the next slot that it knows of.
    let start = performance.now();
    for (let left = checks; left > 0; await delay(20)) {
      if (left === checks) start = performance.now();
      left = await sql(isDue);
    }
    const seconds = (performance.now() - start) / 1000;
    const slots = await sql('select count(*) from runs');
    const cpuMs = (await cpu()) - cpuBefore;
    const databaseMs = stage.databaseCpuMs() - databaseBefore;
    run.progress(`${name}, round ${round}: ${(slots / seconds).toFixed(0)} slots/s`);
    if (round === 0) continue;
    rates.push(slots / seconds);
    costs.push(((cpuMs + databaseMs) * 1000) / slots);
    rows.push([
      name,
      String(round),
      String(slots),
      (slots / seconds).toFixed(0),
      ((cpuMs * 1000) / slots).toFixed(0),
      ((databaseMs * 1000) / slots).toFixed(0),
    ]);
  }
  figures[`${key}_slots_per_s`] = quantile(rates, 0.5).toFixed(0);
  figures[`${key}_cpu_us_per_slot`] = quantile(costs, 0.5).toFixed(0);
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

async function sqliteStage(): Promise<Stage> {
  const service = await startServiceProcess({ HOST: '127.0.0.1' });
  const database = new DatabaseSync(join(service.dataDir, 'picket.sqlite'));
  database.exec('pragma busy_timeout = 60000');
  return {
    name: 'SQLite',
    key: 'sqlite',
    services: [service],
    sql: async (text) => Number(Object.values(database.prepare(text).get() ?? {})[0] ?? 0),
    databaseCpuMs: () => 0,
    async close() {
      database.close();
      await service[Symbol.asyncDispose]();
    },
  };
}

async function postgresStage(count: number): Promise<Stage> {
  const server = await startPostgres({ isDurable: true });
  const databaseUrl = await server.createDatabase();
  const services: RunningService[] = [];
  for (let index = 0; index < count; index += 1) {
    services.push(await startServiceProcess({ DATABASE_URL: databaseUrl, HOST: '127.0.0.1' }));
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  return {
    name: count === 1 ? 'PostgreSQL' : `PostgreSQL, ${count} service processes`,
    key: 'postgres',
    services,
    sql: async (text) =>
      Number(Object.values((await client.query({ text, rowMode: 'array' })).rows[0] ?? [])[0]),
    databaseCpuMs: () => server.cpuMs(),
    async close() {
      await client.end();
      for (const service of services) await service[Symbol.asyncDispose]();
      await server.stop();
    },
  };
}
