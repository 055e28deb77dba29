import { statSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { dayOf } from '../../src/platform/store/days/day-ranges.ts';
import { startPostgres } from '../helpers/service/postgres.ts';
import {
  createCheck,
  openHarness,
  type ServiceHarness,
  temporaryFolder,
} from '../helpers/service/service.ts';
import { resultRow } from '../integration/conformance/store-suites/result-samples.ts';
import { insertIntoPostgres, insertIntoSqlite, type ManyResults } from './parts/many-results.ts';
import { type Bench, type BenchRun, bothEngines, choicesOption, numberOption, quantile } from './report.ts';

const dayMs = 86_400_000;
/** The retention period that `startRetention` of the harness uses. */
const keptMs = 30 * dayMs;
const spreadMs = 4 * dayMs;

interface Stage {
  readonly name: string;
  readonly service: ServiceHarness;
  /** Creates partitions for results between two instants, as if these had arrived on time. */
  prepare(fromMs: number, toMs: number): Promise<void>;
  /** Rounds an instant down to the point up to which expired results are removed. */
  goneBefore(atMs: number): number;
  insert(results: ManyResults): Promise<void>;
  /** Number of rows of a query without result columns of its own. */
  count(query: string): Promise<number>;
  sizeBytes(): Promise<number>;
  close(): Promise<void>;
}

const stages = { sqlite: sqliteStage, postgres: postgresStage };

const bench: Bench = {
  usage: '[--results=1000000] [--checks=500] [--engine=sqlite|postgres]',
  title: 'Retention: removing what is older than it is kept, while 200 results a second come in',
  async run(run) {
    const rows: string[][] = [];
    const figures: Record<string, string | number> = {};
    const engines = choicesOption(run, 'engine', bothEngines);
    for (const engine of engines) {
      const stage = await stages[engine]();
      try {
        await measure(run, stage, rows, figures);
      } finally {
        await stage.close();
      }
    }
    return {
      columns: [
        'engine',
        'before (GB)',
        'results due',
        'gone after (s)',
        'results/s',
        'runs gone after (s)',
        'after (GB)',
        'insert p50 / p99 / max (ms)',
        'longest stall (ms)',
      ],
      rows,
      notes: [
        'Half of the results, each with a detail of 2 kB and a run of its own, are older than the 30 days they are kept for. Sealing what analytics keep of them is part of the work. Meanwhile the same process stores 20 results every 100 ms. GB: the file of SQLite, the database of PostgreSQL, whose vacuum gives free pages to new rows, not back.',
      ],
      figures,
    };
  },
};
export default bench;

async function sqliteStage(): Promise<Stage> {
  const folder = temporaryFolder();
  const path = join(folder.path, 'picket.sqlite');
  const service = await openHarness({ folder: folder.path });
  const reader = new DatabaseSync(path, { readOnly: true });
  return {
    name: 'SQLite',
    service,
    prepare: async () => undefined,
    goneBefore: (atMs) => atMs,
    insert: async (results) => insertIntoSqlite(path, results),
    count: async (query) => Number(Object.values(reader.prepare(query).get() ?? {})[0] ?? 0),
    sizeBytes: async () => statSync(path).size,
    async close() {
      reader.close();
      await service.close();
      folder.remove();
    },
  };
}

async function postgresStage(): Promise<Stage> {
  const server = await startPostgres();
  const databaseUrl = await server.createDatabase();
  const service = await openHarness({ databaseUrl });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const count = async (query: string) =>
    Number(Object.values((await client.query(query)).rows[0] ?? {})[0] ?? 0);
  return {
    name: 'PostgreSQL',
    service,
    prepare: async (fromMs, toMs) => {
      for (let from = dayOf(fromMs); from < toMs; from += dayMs) {
        const stretch = { from, to: from + dayMs };
        await service.store.transaction(({ resultDays }) => resultDays.add(stretch));
        await service.store.transaction(({ runDays }) => runDays.add(stretch));
      }
    },
    // Partitions are removed as whole days.
    goneBefore: dayOf,
    insert: (results) => insertIntoPostgres(databaseUrl, results),
    count,
    sizeBytes: () => count('select pg_database_size(current_database())'),
    async close() {
      await client.end();
      await service.close();
      await server.stop();
    },
  };
}

async function measure(
  run: BenchRun,
  stage: Stage,
  rows: string[][],
  figures: Record<string, string | number>,
): Promise<void> {
  const { name, service } = stage;
  const checkCount = numberOption(run, 'checks', 500);
  const count = Math.floor(numberOption(run, 'results', 1_000_000) / checkCount);
  const now = Date.now();
  const ids: string[] = [];
  const goneBefore = stage.goneBefore(now - keptMs);
  await stage.prepare(now - keptMs - spreadMs / 2, now - keptMs + spreadMs / 2);
  for (let index = 0; index < checkCount; index += 1) {
    const { id } = await createCheck(service, { activated: false });
    ids.push(id);
    const fromMs = now - keptMs - spreadMs / 2;
    await stage.insert({
      checkId: id,
      accountId: service.accountId,
      count,
      fromMs,
      lengthMs: spreadMs,
      hasDetails: true,
    });
    if (index % 50 === 49) run.progress(`${name}: results of ${index + 1} checks inserted`);
  }
  const due = await stage.count(`select count(*) from results where created < ${goneBefore}`);
  const before = await stage.sizeBytes();
  run.progress(`${name}: ${due} results are due`);

  const load = new AbortController();
  const inserts = steadyLoad(service, ids, load.signal);
  const stall = monitorEventLoopDelay({ resolution: 1 });
  stall.enable();
  const started = performance.now();
  // A service that has always run knows its delay.
  await service.store.retired.setTrustedUntil(now, 0);
  service.startRetention();
  // Checks are processed in the order of their ids.
  const last = ids.toSorted().at(-1);
  const goneAfter = async (what: string) => {
    while ((await stage.count(`select 1 from ${what} limit 1`)) > 0) await delay(100);
    return (performance.now() - started) / 1000;
  };
  const results = await goneAfter(`results where check_id = '${last}' and created < ${goneBefore}`);
  run.progress(`${name}: the results are gone after ${results.toFixed(1)} s`);
  const runs = await goneAfter(`runs where ended < ${goneBefore}`);
  const took = await shrunk(stage, before);
  stall.disable();
  load.abort();
  const insertMs = await inserts;
  const [p50, p99, longest] = [quantile(insertMs, 0.5), quantile(insertMs, 0.99), Math.max(...insertMs)];
  const gb = (bytes: number) => (bytes / 1e9).toFixed(2);
  rows.push([
    name,
    gb(before),
    String(due),
    results.toFixed(1),
    (due / results).toFixed(0),
    runs.toFixed(1),
    gb(took),
    [p50, p99, longest].map((ms) => ms.toFixed(1)).join(' / '),
    (stall.max / 1e6).toFixed(0),
  ]);
  const key = name.toLowerCase();
  figures[`${key}_results_per_s`] = (due / results).toFixed(0);
  figures[`${key}_insert_p99_ms`] = p99.toFixed(1);
}

/** The size of the database when it no longer changes, or after five minutes. */
async function shrunk(stage: Stage, before: number): Promise<number> {
  let sizeBytes = before;
  for (let round = 0; round < 60; round += 1) {
    await delay(5_000);
    const next = await stage.sizeBytes();
    if (next >= sizeBytes) return next;
    sizeBytes = next;
  }
  return sizeBytes;
}

/** Stores 20 results every 100 ms, and returns the duration of each insert in milliseconds. */
async function steadyLoad(
  service: ServiceHarness,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<number[]> {
  const took: number[] = [];
  for (let turn = 0; !signal.aborted; turn += 1) {
    const startMs = performance.now();
    const results = Array.from({ length: 20 }, (_none, index) =>
      resultRow(ids[(turn * 20 + index) % ids.length] ?? '', service.accountId, Date.now(), {}),
    );
    await service.store.results.insert(results);
    took.push(performance.now() - startMs);
    await delay(Math.max(0, 100 - (performance.now() - startMs)));
  }
  return took;
}
