import { setTimeout as delay } from 'node:timers/promises';
import {
  cpuMsOf,
  createLocation,
  type RunningService,
  startServiceProcess,
} from '../helpers/picket-process.ts';
import { startPostgres } from '../helpers/service/postgres.ts';
import { startLedgerAgents } from './parts/ledger-agents.ts';
import { type LedgerDatabase, openLedgerOnPostgres, openLedgerOnSqlite } from './parts/ledger-queue.ts';
import { realisticDetail } from './parts/realistic-detail.ts';
import {
  type Bench,
  type BenchRun,
  bothEngines,
  choicesOption,
  numberOption,
  quantile,
  textOption,
} from './report.ts';

interface Stage {
  readonly name: string;
  readonly services: RunningService[];
  readonly database: LedgerDatabase;
  /** CPU time of a database that runs in separate processes, in milliseconds. */
  readonly databaseCpuMs: () => number;
  /** Starts another process on the same database. */
  readonly startAnother: () => Promise<RunningService>;
  close(): Promise<void>;
}

const stages = { sqlite: sqliteStage, postgres: postgresStage };

const bench: Bench = {
  usage:
    '[--runs=40000] [--rounds=3] [--agents=8] [--slots=100] [--checks=1000] [--engine=sqlite|postgres] [--details=realistic] [--no-kill]',
  title: 'The run ledger: runs leased, completed and stored a second',
  async run(run) {
    const rows: string[][] = [];
    const notes: string[] = [];
    const figures: Record<string, string | number> = {};
    const engines = choicesOption(run, 'engine', bothEngines);
    for (const engine of engines) {
      const stage = await stages[engine]();
      try {
        await measure(run, stage, rows, notes, figures);
      } finally {
        await stage.close();
      }
    }
    return {
      columns: [
        'engine',
        'round',
        'runs',
        'runs/s',
        'CPU of the services (µs/run)',
        'of the database',
        'of the agents’ side',
      ],
      rows,
      notes: [
        'A run counts when it was claimed over HTTP, its result with a detail of 2 kB was reported, judged and stored with the end of the run, the status of its check and the numbers for analytics, and the agent has the receipt. Load, services and database share the two cores; commits wait for the disk.',
        ...notes,
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
  notes: string[],
  figures: Record<string, string | number>,
): Promise<void> {
  const count = numberOption(run, 'runs', 40_000);
  const rounds = numberOption(run, 'rounds', 3);
  const slots = numberOption(run, 'slots', 100);
  const agents = numberOption(run, 'agents', 8);
  const [service] = stage.services;
  if (!service) throw new Error('no service');
  const location = await createLocation(service, 'lab');
  for (let index = 0; index < numberOption(run, 'checks', 1000); index += 1) {
    await service.api('POST', '/v1/checks/url', {
      name: `check ${index}`,
      activated: false,
      privateLocations: ['lab'],
      request: { url: 'https://shop.example.com/' },
    });
  }
  const isRealistic = textOption(run, 'details', 'page') === 'realistic';
  const load = () => ({
    ...{ urls: stage.services.map(({ url }) => url), key: location.key, agents, slots },
    ...(isRealistic ? { detailOf: realisticDetail } : {}),
  });
  const acknowledged = new Set<string>();
  const rates: number[] = [];
  const costs: number[] = [];
  let first = 0;
  for (let round = 0; round <= rounds; round += 1) {
    const runs = round === 0 ? Math.min(count, 5000) : count;
    await stage.database.queue({ locationId: location.id, slugName: 'lab', count: runs, first });
    first += runs;
    const before = await cpuOf(stage);
    const databaseBefore = stage.databaseCpuMs();
    const ownBefore = process.cpuUsage();
    const start = performance.now();
    const agentsAtWork = startLedgerAgents(load());
    while (agentsAtWork.counts.acknowledged.size < runs) {
      await delay(20);
      if (performance.now() - start > 120_000) throw new Error('the queue does not get empty');
    }
    const seconds = (performance.now() - start) / 1000;
    const { user, system } = process.cpuUsage(ownBefore);
    await agentsAtWork.stop();
    for (const id of agentsAtWork.counts.acknowledged) acknowledged.add(id);
    const cpuMs = (await cpuOf(stage)) - before;
    const databaseMs = stage.databaseCpuMs() - databaseBefore;
    const sideMs = (user + system) / 1000;
    run.progress(`${stage.name}, round ${round}: ${(runs / seconds).toFixed(0)} runs/s`);
    if (round === 0) continue;
    rates.push(runs / seconds);
    costs.push(((cpuMs + databaseMs + sideMs) * 1000) / runs);
    rows.push([
      stage.name,
      String(round),
      String(runs),
      (runs / seconds).toFixed(0),
      ((cpuMs * 1000) / runs).toFixed(0),
      ((databaseMs * 1000) / runs).toFixed(0),
      ((sideMs * 1000) / runs).toFixed(0),
    ]);
  }
  const key = stage.name.startsWith('SQLite') ? 'sqlite' : 'postgres';
  figures[`${key}_cpu_us_per_run`] = quantile(costs, 0.5).toFixed(0);
  figures[`${key}_runs_per_s`] = quantile(rates, 0.5).toFixed(0);
  for (const one of await stage.database.storage()) {
    notes.push(
      `${stage.name}, ${one.table}: ${one.megabytes.toFixed(1)} MB and ${one.indexMegabytes.toFixed(1)} MB of indexes, ${one.changes} rows changed, ${(one.hot * 100).toFixed(0)} % of them HOT, ${one.deadRows} dead, vacuumed ${one.vacuums} times.`,
    );
    figures[`${key}_${one.table}_mb`] = (one.megabytes + one.indexMegabytes).toFixed(1);
  }
  if (run.options.includes('--no-kill')) return;
  const kills = await killInTurn(run, stage, { first, count, locationId: location.id, load, acknowledged });
  const totals = await stage.database.totals();
  const lost = [...acknowledged].filter((id) => !totals.resultIds.has(id)).length;
  notes.push(
    `${stage.name}: then ${count} more runs with ${kills} times kill -9 of a service process under load: ${acknowledged.size} results acknowledged in all, ${lost} of them lost, ${totals.doubled} runs with two final results, ${totals.final} runs ended, ${totals.results} final results, ${await stage.database.waiting()} runs left.`,
  );
  figures[`${key}_lost`] = lost;
  figures[`${key}_doubled`] = totals.doubled;
}

/** Kills each service process once under load, and continues with the others until the queue is empty. */
async function killInTurn(
  run: BenchRun,
  stage: Stage,
  work: {
    readonly first: number;
    readonly count: number;
    readonly locationId: string;
    readonly load: () => Parameters<typeof startLedgerAgents>[0];
    readonly acknowledged: Set<string>;
  },
): Promise<number> {
  const { first, count, locationId } = work;
  await stage.database.queue({ locationId, slugName: 'lab', count, first });
  const kills = stage.services.length;
  const rest = async (left: number, agentsAtWork: ReturnType<typeof startLedgerAgents>) => {
    const start = performance.now();
    while ((await stage.database.waiting()) > left) {
      await delay(50);
      if (performance.now() - start > 120_000) throw new Error(`${left} runs are left for too long`);
    }
    return agentsAtWork;
  };
  for (let index = 0; index < kills; index += 1) {
    const agentsAtWork = startLedgerAgents(work.load());
    await rest(count - (count * (index + 1)) / (kills + 1), agentsAtWork);
    const victim = stage.services[index];
    await victim?.process.kill('SIGKILL');
    run.progress(`${stage.name}: killed a process`);
    stage.services[index] = await stage.startAnother();
    await agentsAtWork.stop();
    for (const id of agentsAtWork.counts.acknowledged) work.acknowledged.add(id);
  }
  const last = await rest(0, startLedgerAgents(work.load()));
  await last.stop();
  for (const id of last.counts.acknowledged) work.acknowledged.add(id);
  return kills;
}

async function cpuOf(stage: Stage): Promise<number> {
  const each = await Promise.all(stage.services.map(({ process }) => cpuMsOf(process.pid)));
  return each.reduce((sum, ms) => sum + ms, 0);
}

async function postgresStage(): Promise<Stage> {
  const server = await startPostgres({ isDurable: true });
  const databaseUrl = await server.createDatabase();
  const startAnother = () => startServiceProcess({ DATABASE_URL: databaseUrl, HOST: '127.0.0.1' });
  const services = [await startAnother(), await startAnother()];
  const database = await openLedgerOnPostgres(databaseUrl);
  return {
    name: 'PostgreSQL, two service processes',
    services,
    database,
    startAnother,
    databaseCpuMs: () => server.cpuMs(),
    async close() {
      await database.close();
      for (const service of services) await service[Symbol.asyncDispose]();
      await server.stop();
    },
  };
}

async function sqliteStage(): Promise<Stage> {
  const first = await startServiceProcess({ HOST: '127.0.0.1' });
  const { dataDir } = first;
  const port = new URL(first.url).port;
  const services = [first];
  const database = await openLedgerOnSqlite(dataDir);
  return {
    name: 'SQLite, one service process',
    services,
    database,
    databaseCpuMs: () => 0,
    startAnother: () => startServiceProcess({ DATA_DIR: dataDir, PORT: port, HOST: '127.0.0.1' }),
    async close() {
      await database.close();
      for (const service of services) await service[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    },
  };
}
