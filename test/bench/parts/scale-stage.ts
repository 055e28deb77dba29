import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { gridOf, nextSlotAfter } from '../../../src/service/checks/timing/slots.ts';
import {
  cpuMsOf,
  createLocation,
  type RunningService,
  startServiceProcess,
} from '../../helpers/picket-process.ts';
import { startPostgres } from '../../helpers/service/postgres.ts';
import { copyChecks } from './many-checks.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Dead rows and bytes on disk at an instant. */
export interface StoreSize {
  readonly megabytes: number;
  readonly deadRuns: number;
  readonly deadChecks: number;
}

/** Services on one database with many one-minute checks, accessed from outside. */
export interface ScaleStage {
  readonly name: string;
  readonly engine: 'sqlite' | 'postgres';
  /** Addresses of the services; a killed one is replaced in place. */
  readonly urls: string[];
  readonly locationKey: string;
  rows(text: string): Promise<Row[]>;
  /** Schedules checks from an instant on, each at its own slots: those with these numbers, from 1. */
  begin(from: number, to: number, atMs: number): Promise<Map<string, number>>;
  /** Ends the schedule: no more checks become due. */
  end(): Promise<void>;
  /** Kills a service process with SIGKILL and starts another one in its place. */
  killOne(): Promise<void>;
  size(): Promise<StoreSize>;
  /** CPU time in milliseconds since the stage began, including killed processes. */
  cpu(): Promise<{ readonly services: number; readonly database: number }>;
  close(): Promise<void>;
}

const environment = { HOST: '127.0.0.1' };

export async function openScaleStage(
  engine: 'sqlite' | 'postgres',
  checks: number,
  serviceCount: number,
): Promise<ScaleStage> {
  const resources = new AsyncDisposableStack();
  const database = engine === 'postgres' ? await onPostgres(resources) : await onSqlite(resources);
  const services: RunningService[] = [];
  resources.defer(async () => {
    for (const service of services) await service[Symbol.asyncDispose]();
  });
  const start = () => startServiceProcess({ ...environment, ...database.environment });
  for (let index = 0; index < (engine === 'sqlite' ? 1 : serviceCount); index += 1) {
    services.push(await start());
  }
  const [first] = services;
  if (!first) throw new Error('no service');
  const location = await createLocation(first, 'lab');
  const check = {
    name: 'template',
    frequency: 1,
    privateLocations: ['lab'],
    request: { url: 'https://shop.example.com/' },
  };
  const template = await first.api<{ id: string }>('POST', '/v1/checks/url', check);
  const connection = await database.connect();
  resources.defer(connection.close);
  const rows = connection.rows;
  const end = async () => {
    await rows('update checks set next_slot_at = null');
  };
  await end();
  await rows('delete from runs');
  await copyChecks({ engine, templateId: template.id, count: checks, run: rows, areSpread: true });
  let killedMs = 0;
  let next = 0;
  const servicesMs = async () =>
    killedMs +
    (await Promise.all(services.map(({ process }) => cpuMsOf(process.pid)))).reduce((sum, ms) => sum + ms, 0);
  const urls = services.map(({ url }) => url);
  return {
    name:
      engine === 'sqlite' ? 'SQLite, one service process' : `PostgreSQL, ${serviceCount} service processes`,
    engine,
    urls,
    locationKey: location.key,
    rows,
    async begin(from, to, atMs) {
      const firstSlots = new Map<string, number>();
      for (let number = from; number <= to; number += 1) {
        const id = `${number.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
        const definition = { frequency: 1, frequencyOffset: (number % 10) + 1 };
        firstSlots.set(id, nextSlotAfter(gridOf({ id, definition }), atMs));
      }
      await connection.setNextSlots([...firstSlots]);
      // A changed check wakes the scheduler.
      const alive = services[0] ?? first;
      await alive.api('PUT', `/v1/checks/url/${template.id}`, { ...check, activated: false });
      return firstSlots;
    },
    end,
    async killOne() {
      const index = next % services.length;
      const victim = services[index];
      if (!victim) return;
      next += 1;
      killedMs += await cpuMsOf(victim.process.pid);
      await victim.process.kill('SIGKILL');
      const successor = await start();
      services[index] = successor;
      urls[index] = successor.url;
    },
    size: connection.size,
    cpu: async () => ({ services: await servicesMs(), database: database.cpuMs() }),
    close: () => resources.disposeAsync(),
  };
}

interface ScaleConnection {
  rows(text: string): Promise<Row[]>;
  setNextSlots(slots: readonly (readonly [string, number])[]): Promise<void>;
  size(): Promise<StoreSize>;
  close(): Promise<void>;
}

interface ScaleDatabase {
  readonly environment: Readonly<Record<string, string>>;
  cpuMs(): number;
  /** Call it once a service has created the schema. */
  connect(): Promise<ScaleConnection>;
}

async function onPostgres(resources: AsyncDisposableStack): Promise<ScaleDatabase> {
  const server = await startPostgres({ isDurable: true });
  resources.defer(() => server.stop());
  const databaseUrl = await server.createDatabase();
  return {
    environment: { DATABASE_URL: databaseUrl },
    cpuMs: () => server.cpuMs(),
    async connect() {
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      const rows = async (text: string) => (await client.query(text)).rows as Row[];
      return {
        rows,
        setNextSlots: async (slots) => {
          await client.query(
            `update checks set next_slot_at = moved.at from unnest($1::text[], $2::bigint[]) as moved (id, at)
              where checks.id = moved.id`,
            [slots.map(([id]) => id), slots.map(([, at]) => at)],
          );
        },
        async size() {
          const [size] = await rows('select pg_database_size(current_database()) as bytes');
          const dead = await rows('select relname, n_dead_tup as dead from pg_stat_user_tables');
          const deadOf = (table: string) => Number(dead.find(({ relname }) => relname === table)?.dead ?? 0);
          return {
            megabytes: Number(size?.bytes) / 1e6,
            deadRuns: deadOf('runs_live'),
            deadChecks: deadOf('check_slots'),
          };
        },
        close: () => client.end(),
      };
    },
  };
}

async function onSqlite(resources: AsyncDisposableStack): Promise<ScaleDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'picket-scale-'));
  resources.defer(() => rm(dataDir, { recursive: true, force: true }));
  return {
    environment: { DATA_DIR: dataDir },
    cpuMs: () => 0,
    async connect() {
      const database = new DatabaseSync(join(dataDir, 'picket.sqlite'));
      database.exec('pragma busy_timeout = 60000');
      return {
        rows: async (text) => database.prepare(text).all() as Row[],
        setNextSlots: async (slots) => {
          database
            .prepare(
              `update checks set next_slot_at = moved.at
                from (select value ->> 0 as id, value ->> 1 as at from json_each(?)) as moved where checks.id = moved.id`,
            )
            .run(JSON.stringify(slots));
        },
        size: async () => {
          const files = readdirSync(dataDir).filter((name) => name.startsWith('picket.sqlite'));
          const bytes = files.reduce((sum, name) => sum + statSync(join(dataDir, name)).size, 0);
          // SQLite updates rows in place.
          return { megabytes: bytes / 1e6, deadRuns: 0, deadChecks: 0 };
        },
        close: async () => database.close(),
      };
    },
  };
}
