import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import {
  cpuMsOf,
  createLocation,
  startAgentProcess,
  startServiceProcess,
} from '../../helpers/picket-process.ts';
import { startPostgres } from '../../helpers/service/postgres.ts';
import { type CostStage, type CostTarget, intervalSeconds, proportionalMib } from './cost-stage.ts';
import { descendants } from './end-children.ts';

/** As the images and the packages start them. */
const imageOptions = { MALLOC_ARENA_MAX: '2' };
const imageArguments = ['--max-semi-space-size=8', '--min-semi-space-size=8'];

const analyticsOf = {
  url: { kind: 'url-monitors', metric: 'responseTime_p95' },
  dns: { kind: 'dns', metric: 'total_p95' },
  icmp: { kind: 'icmp', metric: 'latencyAvg_p95' },
} as const;

/** A service with its database, and one agent. */
export async function startCostRing(
  targets: readonly CostTarget[],
  engine: 'sqlite' | 'postgres',
): Promise<CostStage> {
  const resources = new AsyncDisposableStack();
  const database = engine === 'postgres' ? await onPostgres(resources) : await onSqlite(resources);
  const service = resources.use(
    await startServiceProcess({ ...imageOptions, ...database.environment }, imageArguments),
  );
  const location = await createLocation(service, 'lab');
  const spool = await mkdtemp(join(tmpdir(), 'picket-cost-'));
  resources.defer(() => rm(spool, { recursive: true, force: true }));
  let asked = '';
  for (const [index, { route, request }] of targets.entries()) {
    const { id } = await service.api<{ id: string }>('POST', `/v1/checks/${route}`, {
      name: `target ${index}`,
      frequency: 0,
      frequencyOffset: intervalSeconds,
      privateLocations: ['lab'],
      request,
    });
    if (index === 17) asked = id;
  }
  const agent = resources.use(
    await startAgentProcess(
      { serviceUrl: service.url, key: location.key },
      { ...imageOptions, SPOOL_DIR: spool, PROBE_CONCURRENCY: '100' },
      imageArguments,
    ),
  );
  const connection = await database.connect();
  resources.defer(connection.close);
  const cpuMs = async () => ({
    agent: await cpuMsOf(agent.process.pid),
    service: await cpuMsOf(service.process.pid),
    ...(engine === 'postgres' ? { database: database.cpuMs() } : {}),
  });
  const route = targets[0]?.route ?? 'url';
  let begun = { atMs: 0, bytes: 0, cpu: await cpuMs() };
  return {
    async begin() {
      begun = { atMs: Date.now(), bytes: await connection.bytes(), cpu: await cpuMs() };
    },
    async end() {
      const cpu = await cpuMs();
      const endMs = Date.now();
      const storedBytes = (await connection.bytes()) - begun.bytes;
      const span = `ended >= ${begun.atMs} and ended < ${endMs}`;
      const checks = await connection.count(
        `select count(*) as n from runs where state = 'final' and ${span}`,
      );
      const missed = await connection.count(
        `select count(*) as n from runs where state = 'missed' and ${span}`,
      );
      const failed = await connection.count(
        `select count(*) as n from results where (has_failures = 1 or has_errors = 1) and created >= ${begun.atMs}`,
      );
      const of = (name: keyof typeof cpu) => (cpu[name] ?? 0) - (begun.cpu[name] ?? 0);
      return {
        checks,
        failed: failed + missed,
        cpuMs: {
          agent: of('agent'),
          service: of('service'),
          ...(engine === 'postgres' ? { database: of('database') } : {}),
        },
        storedBytes,
      };
    },
    memoryMib: async () =>
      proportionalMib(
        [agent.process.pid, service.process.pid, ...database.pids()].flatMap((pid) => [
          pid,
          ...descendants(pid),
        ]),
      ),
    async p95Ms() {
      const { kind, metric } = analyticsOf[route];
      const { series } = await service.api<{ series: { data: Record<string, number>[] }[] }>(
        'GET',
        `/v1/analytics/${kind}/${asked}?metrics=${metric}&from=${begun.atMs}`,
      );
      return series[0]?.data[0]?.[metric] ?? Number.NaN;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

interface RingDatabase {
  readonly environment: Readonly<Record<string, string>>;
  /** Processes of its own. */
  pids(): readonly number[];
  cpuMs(): number;
  connect(): Promise<RingConnection>;
}

interface RingConnection {
  count(text: string): Promise<number>;
  bytes(): Promise<number>;
  close(): Promise<void>;
}

async function onPostgres(resources: AsyncDisposableStack): Promise<RingDatabase> {
  const server = await startPostgres({ isDurable: true });
  resources.defer(() => server.stop());
  const databaseUrl = await server.createDatabase();
  return {
    environment: { DATABASE_URL: databaseUrl },
    pids: () => [server.pid()],
    cpuMs: () => server.cpuMs(),
    async connect() {
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      const count = async (text: string) => Number((await client.query(text)).rows[0]?.n);
      return {
        count,
        bytes: () => count('select pg_database_size(current_database()) as n'),
        close: () => client.end(),
      };
    },
  };
}

async function onSqlite(resources: AsyncDisposableStack): Promise<RingDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'picket-cost-'));
  resources.defer(() => rm(dataDir, { recursive: true, force: true }));
  return {
    environment: { DATA_DIR: dataDir },
    pids: () => [],
    cpuMs: () => 0,
    async connect() {
      const database = new DatabaseSync(join(dataDir, 'picket.sqlite'));
      database.exec('pragma busy_timeout = 60000');
      return {
        count: async (text) => Number(database.prepare(text).get()?.n),
        async bytes() {
          database.exec('pragma wal_checkpoint(truncate)');
          const files = readdirSync(dataDir).filter((name) => name.startsWith('picket.sqlite'));
          return files.reduce((sum, name) => sum + statSync(join(dataDir, name)).size, 0);
        },
        close: async () => database.close(),
      };
    },
  };
}
