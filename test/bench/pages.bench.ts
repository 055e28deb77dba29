import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  cpuMsOf,
  createLocation,
  type RunningService,
  startServiceProcess,
} from '../helpers/picket-process.ts';
import { type PostgresServer, startPostgres } from '../helpers/service/postgres.ts';
import { startLedgerAgents, urlDetail } from './parts/ledger-agents.ts';
import { PageReader } from './parts/page-readers.ts';
import { openPagesOnPostgres, openPagesOnSqlite, type PagesDatabase } from './parts/pages-data.ts';
import { type Bench, type BenchRun, bothEngines, choicesOption, numberOption, quantile } from './report.ts';

/** The key of the first account of a service process under test. */
const key = 'test-key-of-the-first-account';

interface Stage {
  readonly name: string;
  readonly service: RunningService;
  readonly database: PagesDatabase;
  readonly locationKey: string;
  readonly server?: PostgresServer;
  close(): Promise<void>;
}

interface Load {
  readonly lateness: number[];
  readonly reports: number[];
  results: number;
}

const stages = { sqlite: sqliteStage, postgres: postgresStage };

const bench: Bench = {
  usage:
    '[--checks=10000] [--results=1000000] [--readers=200] [--seconds=60] [--rounds=100] [--engine=sqlite|postgres]',
  title: 'Pages: time to the first byte, and what readers cost the ledger',
  async run(run) {
    const rows: string[][] = [];
    const notes: string[] = [];
    const figures: Record<string, string | number> = {};
    const engines = choicesOption(run, 'engine', bothEngines);
    for (const engine of engines) {
      const stage = await stages[engine](run);
      try {
        await measure(run, stage, { rows, notes, figures });
      } finally {
        await stage.close();
      }
    }
    return {
      columns: ['engine', 'what', 'p50 (ms)', 'p95 (ms)', 'longest (ms)'],
      rows,
      notes: [
        'First bytes are those of requests one after the other, over one connection, compressed. Pages, ledger, database, readers and agents share the cores. A reader keeps the page of one thing open. It follows what happens where a browser would: the overview all checks (every five seconds while something happens all the time), the page of a check that check. Pages that follow nothing (runs, the status page) are loaded every five seconds.',
        ...notes,
      ],
      figures,
    };
  },
};
export default bench;

interface Found {
  readonly rows: string[][];
  readonly notes: string[];
  readonly figures: Record<string, string | number>;
}

async function measure(run: BenchRun, stage: Stage, found: Found): Promise<void> {
  const { name, service } = stage;
  const short = name === 'SQLite' ? 'sqlite' : 'postgres';
  const reader = await PageReader.login(service.url, key);
  for (const [page, path] of Object.entries(pathsOf(42))) {
    run.progress(`${name}: ${page}`);
    const took: number[] = [];
    const first = await reader.load(path);
    for (let round = 0; round < numberOption(run, 'rounds', 100); round += 1) {
      took.push((await reader.load(path)).firstByteMs);
    }
    found.rows.push(row(name, `${page}, first byte`, took));
    found.notes.push(`${name}: the very first ${page} took ${first.firstByteMs.toFixed(0)} ms.`);
    found.figures[`${short}_${page.replace(' ', '_')}_p95_ms`] = quantile(took, 0.95).toFixed(0);
  }
  run.progress(`${name}: overview, searching`);
  const searches: number[] = [];
  for (let round = 0; round < numberOption(run, 'rounds', 100); round += 1) {
    searches.push((await reader.load(`/?q=check+${round}`)).firstByteMs);
  }
  found.rows.push(row(name, 'overview with a search of its own each time, first byte', searches));
  run.progress(`${name}: search for everything`);
  const finds: number[] = [];
  for (let round = 0; round < numberOption(run, 'rounds', 100); round += 1) {
    finds.push((await reader.load(`/search?part=list&q=check+${round}`)).firstByteMs);
  }
  found.rows.push(row(name, 'search for everything, a query of its own each time, first byte', finds));
  found.figures[`${short}_search_p95_ms`] = quantile(finds, 0.95).toFixed(0);
  run.progress(`${name}: overview by last run, page by page`);
  const sorted: number[] = [];
  for (let round = 0; round < numberOption(run, 'rounds', 100); round += 1) {
    sorted.push((await reader.load(`/?sort=-run&page=${round + 1}`)).firstByteMs);
  }
  found.rows.push(row(name, 'overview by last run, another page each time, first byte', sorted));
  await stage.database.hurry();
  // The service cannot see what others write into its database; a new check makes it look at the schedule.
  await createCheck(service, 'new');
  const seconds = numberOption(run, 'seconds', 60);
  const without = await underLoad(run, stage, 0, seconds);
  const readers = numberOption(run, 'readers', 200);
  const withReaders = await underLoad(run, stage, readers, seconds);
  for (const [who, load] of [
    ['no reader', without],
    [`${readers} readers`, withReaders],
  ] as const) {
    const rate = (load.results / seconds).toFixed(0);
    found.rows.push(row(name, `lateness of runs, ${who}, ${rate} results a second`, load.lateness));
    found.rows.push(row(name, `receipt of results, ${who}`, load.reports));
    const id = who === 'no reader' ? 'alone' : 'read';
    found.figures[`${short}_lateness_${id}_p95_ms`] = quantile(load.lateness, 0.95).toFixed(0);
    found.figures[`${short}_results_${id}_per_s`] = rate;
    for (const [page, took] of Object.entries(load.pages)) {
      const pages = `${page}, whole, ${who}, ${(took.length / seconds).toFixed(1)} a second`;
      found.rows.push(row(name, pages, took));
    }
  }
  found.notes.push(
    `${name}: ${await stage.database.results()} results in the end. CPU of the service, of one core: ${percent(without.cpuShare)} without readers, ${percent(withReaders.cpuShare)} with them.`,
  );
  reader.close();
  if (!stage.server) return;
  await stage.server.kill();
  run.progress(`${name}: the public page, with the database stopped`);
  const perSecond = await publicRate(service.url, 10);
  found.notes.push(
    `${name} stopped: the public page answered ${perSecond.toFixed(0)} requests a second from its snapshot, over 16 connections, none with an error.`,
  );
  found.figures['public_page_per_s'] = perSecond.toFixed(0);
  await stage.server.start();
}

/** Runs agents at the rate of the checks, while that many readers are active. */
async function underLoad(
  run: BenchRun,
  { name, service, locationKey }: Stage,
  readers: number,
  seconds: number,
): Promise<Load & { readonly pages: Record<string, number[]>; readonly cpuShare: number }> {
  run.progress(`${name}: ${readers} readers`);
  const load: Load = { lateness: [], reports: [], results: 0 };
  let isMeasured = false;
  const agents = startLedgerAgents({
    urls: [service.url],
    key: locationKey,
    agents: 8,
    slots: 100,
    observe: {
      claimed: (latenessMs) => isMeasured && load.lateness.push(...latenessMs),
      reported: (tookMs, results) => {
        if (!isMeasured) return;
        load.reports.push(tookMs);
        load.results += results;
      },
    },
  });
  const stop = new AbortController();
  const pages: Record<string, number[]> = {};
  const first = await PageReader.login(service.url, key);
  const reading = Array.from({ length: readers }, async (_none, index) => {
    const reader = first.another();
    const number = (index * 131) % Math.min(1_000, numberOption(run, 'checks', 10_000));
    const [page = '', path = '/'] = Object.entries(pathsOf(number))[index % 4] ?? [];
    // Readers do not open their pages at the same instant.
    await delay((index / readers) * 5_000);
    let isNews = true;
    let newest: string | undefined;
    let following: Promise<void> | undefined;
    while (!stop.signal.aborted) {
      if (isNews || following === undefined) {
        isNews = false;
        const { totalMs, live } = await reader.load(path, newest);
        if (isMeasured) {
          pages[page] ??= [];
          pages[page].push(totalMs);
        }
        if (live !== undefined) {
          following ??= reader.follow(live, stop.signal, (news) => {
            newest = news;
            isNews = true;
          });
        }
      }
      await delay(following === undefined ? 5_000 : 50);
    }
    reader.close();
    await following;
  });
  // Overdue runs and the first pages are not measured.
  await delay(15_000);
  isMeasured = true;
  const cpuBefore = await cpuMsOf(service.process.pid);
  await delay(seconds * 1_000);
  isMeasured = false;
  const cpuShare = ((await cpuMsOf(service.process.pid)) - cpuBefore) / (seconds * 1_000);
  stop.abort();
  await Promise.all(reading);
  first.close();
  await agents.stop();
  return { ...load, pages, cpuShare };
}

async function publicRate(url: string, seconds: number): Promise<number> {
  const endsAt = performance.now() + seconds * 1_000;
  let answered = 0;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (performance.now() < endsAt) {
        const response = await fetch(`${url}/status/bench`);
        await response.arrayBuffer();
        if (response.status !== 200) throw new Error(`the public page answered ${response.status}`);
        answered += 1;
      }
    }),
  );
  return answered / seconds;
}

async function sqliteStage(run: BenchRun): Promise<Stage> {
  const first = await startServiceProcess();
  const { dataDir } = first;
  const made = await prepare(first);
  first.process.child.kill('SIGTERM');
  await once(first.process.child, 'close');
  const database = await openPagesOnSqlite(dataDir);
  await fill(run, 'SQLite', database, made.templateId);
  const service = await startServiceProcess({ DATA_DIR: dataDir });
  await untilQuiet(run, service);
  return {
    name: 'SQLite',
    service,
    database,
    locationKey: made.locationKey,
    async close() {
      await database.close();
      await service[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    },
  };
}

async function postgresStage(run: BenchRun): Promise<Stage> {
  const server = await startPostgres({ isDurable: true });
  const databaseUrl = await server.createDatabase();
  const first = await startServiceProcess({ DATABASE_URL: databaseUrl });
  const made = await prepare(first);
  await first[Symbol.asyncDispose]();
  const database = await openPagesOnPostgres(databaseUrl);
  await fill(run, 'PostgreSQL', database, made.templateId);
  await database.close();
  const service = await startServiceProcess({ DATABASE_URL: databaseUrl });
  await untilQuiet(run, service);
  return {
    name: 'PostgreSQL',
    service,
    database: {
      ...database,
      hurry: () => within(databaseUrl, (opened) => opened.hurry()),
      results: () => within(databaseUrl, (opened) => opened.results()),
    },
    locationKey: made.locationKey,
    server,
    async close() {
      await service[Symbol.asyncDispose]();
      await server.stop();
    },
  };
}

/** A connection that exists only while the server runs. */
async function within<T>(url: string, act: (database: PagesDatabase) => Promise<T>): Promise<T> {
  const database = await openPagesOnPostgres(url);
  try {
    return await act(database);
  } finally {
    await database.close();
  }
}

/** Creates a location, the check to copy, and a status page. */
async function prepare(service: RunningService): Promise<{ templateId: string; locationKey: string }> {
  const location = await createLocation(service, 'lab');
  const check = await createCheck(service, 'check 99999999');
  const shop = await service.api<{ id: string }>('POST', '/v1/status-pages/services', { name: 'Shop' });
  await service.api('POST', '/v1/status-pages', {
    name: 'Bench',
    url: 'bench',
    cards: [{ name: 'Core', services: [{ id: shop.id }] }],
  });
  return { templateId: check.id, locationKey: location.key };
}

function createCheck(service: RunningService, name: string): Promise<{ id: string }> {
  return service.api('POST', '/v1/checks/url', {
    name,
    frequency: 1440,
    // Copies that run every ten seconds keep it.
    frequencyOffset: 10,
    privateLocations: ['lab'],
    request: { url: 'https://shop.example.com/' },
  });
}

async function fill(run: BenchRun, name: string, database: PagesDatabase, templateId: string): Promise<void> {
  const [checks, results] = [numberOption(run, 'checks', 10_000), numberOption(run, 'results', 1_000_000)];
  run.progress(`${name}: inserting ${checks} checks and ${results} results`);
  await database.fill({ templateId, checks, results, detail: JSON.stringify(urlDetail()) });
}

/** After its start a service seals the inserted results, which is not measured. */
async function untilQuiet(run: BenchRun, { process }: RunningService): Promise<void> {
  run.progress('waiting until everything is sealed');
  for (let quiet = 0, before = await cpuMsOf(process.pid), look = 0; quiet < 3 && look < 300; look += 1) {
    await delay(2_000);
    const now = await cpuMsOf(process.pid);
    quiet = now - before < 150 ? quiet + 1 : 0;
    before = now;
  }
}

function pathsOf(number: number): Record<string, string> {
  return {
    overview: '/',
    check: `/checks/${checkId(number)}`,
    run: `/checks/${checkId(number)}/runs/${resultId(number)}`,
    'status page': '/status/bench',
  };
}

function checkId(number: number): string {
  return `${number.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
}

function resultId(number: number): string {
  return `${number.toString(16).padStart(8, '0')}-0000-4000-9000-000000000000`;
}

function row(engine: string, what: string, values: readonly number[]): string[] {
  return [engine, what, ...[0.5, 0.95, 1].map((q) => quantile(values, q).toFixed(0))];
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
