import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import {
  createLocation,
  type RunningService,
  startPicket,
  startServiceProcess,
} from '../helpers/picket-process.ts';
import { findPostgres, startPostgres } from '../helpers/service/postgres.ts';
import { startLedgerAgents } from './parts/ledger-agents.ts';
import { type LedgerDatabase, openLedgerOnPostgres, openLedgerOnSqlite } from './parts/ledger-queue.ts';
import { type Bench, numberOption } from './report.ts';

type Environment = Readonly<Record<string, string>>;

interface Stage {
  readonly name: string;
  readonly service: RunningService;
  readonly ledger: LedgerDatabase;
  /** Variables for a command on the database, and on an empty one. */
  readonly environment: Environment;
  readonly empty: Environment;
  sizeBytes(): Promise<number>;
  /** Bytes in the write-ahead log so far; undefined if the engine does not count them. */
  writtenBytes(): Promise<number | undefined>;
}

const checks = 200;
const agents = 8;
const slots = 100;

const bench: Bench = {
  usage: '[--runs=100000]',
  title: 'What runs leave: bytes, log of writes, and how long a backup and its restore take',
  async run(run) {
    const count = numberOption(run, 'runs', 100_000);
    const rows: string[][] = [];
    for (const open of [onPostgres, onSqlite]) {
      await using resources = new AsyncDisposableStack();
      const stage = await open(resources);
      rows.push([stage.name, ...(await measured(stage, count, resources))]);
      run.progress(`${stage.name}: done`);
    }
    return {
      columns: [
        'engine',
        'database (kB a run)',
        'log of writes (kB a run)',
        'backup (s)',
        'backup (kB a run)',
        'restore (s)',
      ],
      rows,
      notes: [
        `${count} runs of ${checks} checks, claimed and reported in batches of ${slots} over HTTP, each with a detail of 2 kB. Log of writes: of PostgreSQL, from the runs being queued to their results being stored, with the whole pages it writes after a checkpoint. Backup while the service runs, restore into an empty database; both with the start of the command.`,
      ],
      figures: Object.fromEntries(
        rows.flatMap(([name = '', ...cells]) =>
          ['kb', 'wal_kb', 'backup_s', 'backup_kb', 'restore_s'].map((key, index) => [
            `${name.toLowerCase()}_${key}`,
            cells[index] ?? '',
          ]),
        ),
      ),
    };
  },
};
export default bench;

async function measured(stage: Stage, count: number, resources: AsyncDisposableStack): Promise<string[]> {
  const { service, ledger } = stage;
  const location = await createLocation(service, 'lab');
  for (let index = 0; index < checks; index += 1) {
    await service.api('POST', '/v1/checks/url', {
      name: `check ${index}`,
      activated: false,
      privateLocations: ['lab'],
      request: { url: 'https://shop.example.com/' },
    });
  }
  const sizeBefore = await stage.sizeBytes();
  const writtenBefore = await stage.writtenBytes();
  await ledger.queue({ locationId: location.id, slugName: 'lab', count, first: 0 });
  const atWork = startLedgerAgents({ urls: [service.url], key: location.key, agents, slots });
  while (atWork.counts.acknowledged.size < count) await delay(50);
  await atWork.stop();
  const written = await stage.writtenBytes();
  const size = await stage.sizeBytes();
  const folder = join(temporaryFolder(resources), 'backup');
  const backupSeconds = await seconds(['service', 'backup', folder], stage.environment);
  const backupBytes = sizeOf(folder);
  const restoreSeconds = await seconds(['service', 'restore', folder], stage.empty);
  const each = (bytes: number) => (bytes / count / 1000).toFixed(2);
  return [
    each(size - sizeBefore),
    written === undefined || writtenBefore === undefined ? '' : each(written - writtenBefore),
    backupSeconds.toFixed(1),
    each(backupBytes),
    restoreSeconds.toFixed(1),
  ];
}

async function seconds(args: readonly string[], environment: Environment): Promise<number> {
  const startMs = performance.now();
  const command = startPicket(args, environment);
  const { code } = await command.ended;
  if (code !== 0) throw new Error(`picket ${args.join(' ')}: ${command.output()}`);
  return (performance.now() - startMs) / 1000;
}

async function onPostgres(resources: AsyncDisposableStack): Promise<Stage> {
  const server = await startPostgres({ isDurable: true });
  resources.defer(() => server.stop());
  const databaseUrl = await server.createDatabase();
  // pg_dump and pg_restore come with the server.
  const PATH = `${findPostgres()}:${process.env.PATH}`;
  const service = resources.use(await startServiceProcess({ DATABASE_URL: databaseUrl }));
  const ledger = await openLedgerOnPostgres(databaseUrl);
  resources.defer(() => ledger.close());
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  resources.defer(() => client.end());
  const number = async (text: string) => Number((await client.query(text)).rows[0].n);
  return {
    ...{ name: 'PostgreSQL', service, ledger },
    environment: { PATH, DATABASE_URL: databaseUrl, DATA_DIR: service.dataDir },
    empty: { PATH, DATABASE_URL: await server.createDatabase(), DATA_DIR: temporaryFolder(resources) },
    sizeBytes: () => number('select pg_database_size(current_database()) as n'),
    writtenBytes: () => number(`select pg_current_wal_insert_lsn() - '0/0' as n`),
  };
}

async function onSqlite(resources: AsyncDisposableStack): Promise<Stage> {
  const service = resources.use(await startServiceProcess());
  const ledger = await openLedgerOnSqlite(service.dataDir);
  resources.defer(() => ledger.close());
  return {
    ...{ name: 'SQLite', service, ledger },
    environment: { DATA_DIR: service.dataDir },
    empty: { DATA_DIR: temporaryFolder(resources) },
    sizeBytes: async () => statSync(join(service.dataDir, 'picket.sqlite')).size,
    writtenBytes: async () => undefined,
  };
}

function temporaryFolder(resources: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'picket-backup-'));
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
