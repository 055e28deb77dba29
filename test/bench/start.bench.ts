import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { agentKey } from '../helpers/agent/agent-process.ts';
import { FakeService } from '../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { cpuMsOf } from '../helpers/picket-process.ts';
import { createCheck, openHarness, temporaryFolder } from '../helpers/service/service.ts';
import { proportionalMib } from './parts/cost-stage.ts';
import { descendants } from './parts/end-children.ts';
import { startLineProcess } from './parts/line-process.ts';
import { insertIntoSqlite } from './parts/many-results.ts';
import { type Bench, numberOption, quantile } from './report.ts';

const root = join(import.meta.dirname, '..', '..');
/** As in the images. */
const imageFlags = ['--max-semi-space-size=8', '--min-semi-space-size=8'];
const dayMs = 86_400_000;
/** Background work of the process and of its warm script processes is done by then. */
const settleMs = 20_000;

interface Start {
  readonly readyMs: number;
  /** CPU time of the whole process until it was ready. */
  readonly cpuMs: number;
  readonly firstResultMs: number;
  readonly idleMb: number;
}

interface Subject {
  readonly name: string;
  start(): Promise<Start>;
}

const bench: Bench = {
  usage: '[--rounds=5] [--results=1000000]',
  title: 'Start: from the process to readiness, to the first result, and what it takes when idle',
  async run(run) {
    const rounds = numberOption(run, 'rounds', 5);
    const results = numberOption(run, 'results', 1_000_000);
    const folder = temporaryFolder();
    const uptime = mkdtempSync(join(root, '.compiled-start-'));
    const full = mkdtempSync(join(root, '.compiled-start-'));
    // Scripts run as users who may only read the program.
    chmodSync(full, 0o755);
    await using target = startLineProcess('target.ts');
    const targetUrl = `http://127.0.0.1:${await target.next()}/`;
    try {
      for (const [kind, files] of [
        ['uptime', uptime],
        ['full', full],
      ] as const) {
        await promisify(execFile)(process.execPath, [join(root, 'scripts/bundle.ts'), kind, files], {
          cwd: root,
        });
      }
      const compile = join(root, 'scripts/bundle/compile.mjs');
      await promisify(execFile)(process.execPath, [compile, uptime, 'agent']);
      await promisify(execFile)(process.execPath, [compile, full, 'agent', 'service']);
      const filled = await filledDatabase(join(folder.path, 'filled'), results);
      const subjects: Subject[] = [
        { name: 'Node with an HTTP server and nothing else', start: startBareServer },
        {
          name: 'agent, files of the uptime image',
          start: () =>
            startAgent([...imageFlags, join(uptime, 'agent.js'), 'agent'], 'URL,DNS,TCP,ICMP', targetUrl),
        },
        {
          name: 'agent, files of the full image',
          start: () => startAgent([...imageFlags, join(full, 'cli.js'), 'agent'], '', targetUrl),
        },
        {
          name: 'service, files of the full image, new folder',
          start: () => startService(join(full, 'cli.js'), join(folder.path, crypto.randomUUID())),
        },
        {
          name: `service, files of the full image, SQLite with ${results} results`,
          start: () => startService(join(full, 'cli.js'), filled),
        },
      ];
      const starts = new Map<string, Start[]>(subjects.map(({ name }) => [name, []]));
      for (let round = 1; round <= rounds; round += 1) {
        for (const { name, start } of round % 2 === 0 ? subjects.toReversed() : subjects) {
          const one = await start();
          starts.get(name)?.push(one);
          run.progress(`round ${round}: ${name} ready after ${one.readyMs.toFixed(0)} ms`);
        }
      }
      return reported(starts);
    } finally {
      for (const files of [uptime, full]) rmSync(files, { recursive: true, force: true });
      folder.remove();
    }
  },
};
export default bench;

function reported(starts: ReadonlyMap<string, readonly Start[]>) {
  const median = (of: readonly Start[], field: keyof Start) =>
    quantile(
      of.map((start) => start[field]),
      0.5,
    );
  const bareMs = median([...starts.values()][0] ?? [], 'readyMs');
  const rows = [...starts].map(([name, of]) => [
    name,
    median(of, 'readyMs').toFixed(0),
    (median(of, 'readyMs') / bareMs).toFixed(1),
    median(of, 'cpuMs').toFixed(0),
    Number.isNaN(median(of, 'firstResultMs')) ? '' : median(of, 'firstResultMs').toFixed(0),
    median(of, 'idleMb').toFixed(0),
  ]);
  const figures = Object.fromEntries(
    ['bare', 'uptime', 'full', 'service', 'service_filled'].flatMap((key, index) => [
      [`${key}_ready_ms`, rows[index]?.[1] ?? ''],
      [`${key}_idle_mib`, rows[index]?.[5] ?? ''],
    ]),
  );
  return {
    columns: ['what', 'ready (ms)', 'of bare Node', 'CPU until then (ms)', 'first result (ms)', 'idle (MiB)'],
    rows,
    notes: [
      'Medians of rounds in alternating order, from starting the process. Ready: `/-/readiness` answers 200 (bare Node: its port answers). First result: of a run that was due when the agent started, at the service. Idle: proportional set size of the process and all it started, 20 s later.',
    ],
    figures,
  };
}

async function startBareServer(): Promise<Start> {
  const source =
    "require('node:http').createServer((q, a) => a.end()).listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
  return await measured(['-e', source], {}, (line) => line);
}

async function startAgent(args: readonly string[], checkTypes: string, targetUrl: string): Promise<Start> {
  const folder = temporaryFolder();
  const service = new FakeService();
  await service.listen();
  service.enqueue(leasedRun(targetUrl));
  const startMs = performance.now();
  let firstResultMs = Number.NaN;
  const hasResult = service
    .waitFor('the first result', () => service.results.length > 0, 60_000)
    .then(() => {
      firstResultMs = performance.now() - startMs;
    });
  try {
    const environment = {
      SERVICE_URL: service.url,
      API_KEY: agentKey,
      AGENT_HEALTH_PORT: '0',
      SPOOL_DIR: folder.path,
      RUNTIMES_DIR: join(root, 'runtimes'),
      ...(checkTypes === '' ? {} : { CHECK_TYPES: checkTypes }),
    };
    const start = await measured(
      args,
      environment,
      (line) => /"port":(\d+)/.exec(line)?.[1],
      () => hasResult,
    );
    return { ...start, firstResultMs };
  } finally {
    await service.close();
    folder.remove();
  }
}

async function startService(program: string, folder: string): Promise<Start> {
  const environment = {
    PORT: '0',
    HOST: '127.0.0.1',
    DATA_DIR: folder,
    BOOTSTRAP_API_KEY: 'ak_0123456789abcdef',
  };
  return await measured(
    [...imageFlags, program, 'service'],
    environment,
    (line) => /"address":"[^"]+:(\d+)"/.exec(line)?.[1],
  );
}

/** Starts Node, polls until it is ready, and measures it again once it has settled. */
async function measured(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  portIn: (line: string) => string | undefined,
  alsoUntil: () => Promise<void> = async () => undefined,
): Promise<Start> {
  const startMs = performance.now();
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, MALLOC_ARENA_MAX: '2', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  try {
    const port = await new Promise<string>((resolve, reject) => {
      child.on('close', () => reject(new Error(`${args.join(' ')} ended early`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        const found = portIn(line);
        if (found !== undefined) resolve(found);
      });
    });
    while (!(await fetch(`http://127.0.0.1:${port}/-/readiness`)).ok) await delay(2);
    const readyMs = performance.now() - startMs;
    const pid = child.pid ?? 0;
    const cpuMs = await cpuMsOf(pid);
    await alsoUntil();
    await delay(settleMs);
    const idleMb = proportionalMib([pid, ...descendants(pid)]);
    return { readyMs, cpuMs, firstResultMs: Number.NaN, idleMb };
  } finally {
    child.kill('SIGKILL');
    await closed;
  }
}

/** A data folder whose results fill the last thirty days of one check. */
async function filledDatabase(folder: string, count: number): Promise<string> {
  mkdirSync(folder);
  const service = await openHarness({ folder });
  try {
    const { id: checkId } = await createCheck(service);
    const { accountId } = service;
    const window = { fromMs: Date.now() - 30 * dayMs, lengthMs: 30 * dayMs };
    insertIntoSqlite(join(folder, 'picket.sqlite'), { checkId, accountId, count, ...window });
    // As a service leaves it that has stored them one by one: sealed for analytics and coverage.
    service.startRetention();
    const { resultColumns, slotDays } = service.store;
    const isOpen = async (nowMs: number) =>
      (await resultColumns.nextSeal(checkId, nowMs)) !== null ||
      (await slotDays.nextSeal(checkId, nowMs)) !== null;
    while (await isOpen(Date.now())) await delay(250);
  } finally {
    await service.close();
  }
  return folder;
}
