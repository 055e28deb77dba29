import { loadavg } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { AnalyticsPlace } from '../../src/service/results/analytics/analytics-thread.ts';
import { whyNoClickHouse } from '../helpers/service/clickhouse.ts';
import { startPostgres } from '../helpers/service/postgres.ts';
import {
  createCheck,
  openHarness,
  type ServiceHarness as ServiceBench,
  temporaryFolder,
} from '../helpers/service/service.ts';
import { compareWithClickHouse } from './parts/clickhouse-questions.ts';
import {
  insertIntoPostgres,
  insertIntoSqlite,
  type PlainAnswer,
  plainOnPostgres,
  plainOnSqlite,
} from './parts/many-results.ts';
import { type Bench, type BenchRun, bothEngines, choicesOption, numberOption, quantile } from './report.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const endings = ['avg', 'max', 'median', 'min', 'p50', 'p90', 'p95', 'p99', 'stddev', 'sum'];
const phases = ['responseTime', 'wait', 'dns', 'tcp', 'firstByte', 'download'];
const everyMetric = phases.flatMap((phase) => endings.map((ending) => `${phase}_${ending}`));

const questions: readonly (readonly [string, string])[] = [
  ['p95', 'metrics=responseTime_p95'],
  [
    'nine figures by location',
    'metrics=responseTime_avg,responseTime_min,responseTime_max,responseTime_p50,responseTime_p90,responseTime_p95,responseTime_p99,responseTime_stddev,availability&groupBy=runLocation',
  ],
  [
    'p50, p95, p99 by hour',
    'metrics=responseTime_p50,responseTime_p95,responseTime_p99&aggregationInterval=60&limit=100',
  ],
  [
    'p95 of failures by status code',
    'metrics=responseTime_p95,retries&groupBy=statusCode&filterByStatus=failure',
  ],
  ['p95 of the last 24 hours', 'metrics=responseTime_p95&quickRange=last24Hours'],
  ['values of 100 results', 'metrics=responseTime&limit=100&page=50'],
  ['all 60 metrics at once', `metrics=${everyMetric.join(',')}`],
];

interface Engine {
  readonly name: string;
  readonly bench: ServiceBench;
  readonly place: AnalyticsPlace;
  readonly insert: (results: Parameters<typeof insertIntoSqlite>[1]) => Promise<void>;
  readonly plain: (checkId: string) => Promise<PlainAnswer>;
}

const bench: Bench = {
  usage: '[--results=1000000] [--rounds=20] [--engine=sqlite|postgres]',
  title: 'Analytics over results of one check in a window of 30 days',
  async run(run) {
    const engines = choicesOption(run, 'engine', bothEngines);
    const rows: string[][] = [];
    const notes: string[] = [];
    const figures: Record<string, string | number> = {};
    if (engines.includes('sqlite')) {
      const folder = temporaryFolder();
      const path = join(folder.path, 'picket.sqlite');
      const service = await openHarness({ folder: folder.path });
      await measure(run, rows, notes, figures, {
        name: 'SQLite',
        bench: service,
        place: { path },
        insert: async (results) => insertIntoSqlite(path, results),
        plain: async (checkId) => plainOnSqlite(path, checkId),
      });
      await service.close();
      folder.remove();
    }
    if (engines.includes('postgres')) {
      const server = await startPostgres();
      const databaseUrl = await server.createDatabase();
      const service = await openHarness({ databaseUrl });
      await measure(run, rows, notes, figures, {
        name: 'PostgreSQL',
        bench: service,
        place: { databaseUrl, path: '' },
        insert: (results) => insertIntoPostgres(databaseUrl, results),
        plain: (checkId) => plainOnPostgres(databaseUrl, checkId),
      });
      await service.close();
      await server.stop();
    }
    return {
      columns: [
        'engine',
        'question',
        'first (ms)',
        'p50 (ms)',
        'p95 (ms)',
        'longest stall of the service (ms)',
      ],
      rows,
      notes: [
        'Each question as an HTTP request to the service (in process), with quickRange=last30Days unless it says otherwise. First: with nothing in the memory of the thread that answers. Stall: how long the service itself could not answer anything else meanwhile.',
        ...notes,
      ],
      figures,
    };
  },
};
export default bench;

async function measure(
  run: BenchRun,
  rows: string[][],
  notes: string[],
  figures: Record<string, string | number>,
  engine: Engine,
): Promise<void> {
  const count = numberOption(run, 'results', 1_000_000);
  const rounds = numberOption(run, 'rounds', 20);
  const { name, bench: service } = engine;
  const check = await createCheck(service);
  const now = Date.now();
  run.progress(`${name}: inserting ${count} results`);
  await engine.insert({
    checkId: check.id,
    accountId: service.accountId,
    count,
    // The window moves on while the data are inserted.
    fromMs: now - 30 * dayMs + hourMs,
    lengthMs: 30 * dayMs - hourMs - 60_000,
  });
  run.progress(`${name}: sealing`);
  const sealStart = performance.now();
  let chunks = 0;
  while (await service.store.transaction((nouns) => nouns.resultColumns.sealNext(check.id, now))) chunks += 1;
  const sealMs = performance.now() - sealStart;
  const slotSealStart = performance.now();
  const cold = await coverageMs(service, check.id, 1);
  while (await service.store.transaction((nouns) => nouns.slotDays.sealNext(check.id, now))) {
    // The next day.
  }
  const slotSealMs = performance.now() - slotSealStart - cold;
  const sealed = await coverageMs(service, check.id, rounds);
  const plain = await engine.plain(check.id);
  const key = name === 'SQLite' ? 'sqlite' : 'postgres';
  for (const [question, query] of questions) {
    run.progress(`${name}: ${question}`);
    const range = query.includes('quickRange') ? '' : '&quickRange=last30Days';
    const path = `/v1/analytics/url-monitors/${check.id}?${query}${range}`;
    const took: number[] = [];
    const stall = monitorEventLoopDelay({ resolution: 1 });
    for (let round = 0; round <= rounds; round += 1) {
      const start = performance.now();
      const { status, body } = await service.call('GET', path);
      took.push(performance.now() - start);
      if (status !== 200) throw new Error(JSON.stringify(body));
      if (round === 0) stall.enable();
      if (round === 0 && question === 'nine figures by location') compare(body, plain);
    }
    stall.disable();
    const [first = 0, ...others] = took;
    const [p50, p95] = [quantile(others, 0.5), quantile(others, 0.95)];
    rows.push([name, question, ...[first, p50, p95, stall.max / 1e6].map((ms) => ms.toFixed(0))]);
    if (question === 'p95') figures[`${key}_p95_ms`] = p95.toFixed(0);
    if (question === 'nine figures by location') figures[`${key}_by_location_ms`] = p95.toFixed(0);
  }
  notes.push(
    `${name}: ${count} results in ${chunks} chunks, sealed in ${(sealMs / 1000).toFixed(1)} s (${((sealMs * 1000) / count).toFixed(1)} µs each). The nine figures by location as plain SQL over the results: ${plain.ms.toFixed(0)} ms; both give the same p95, digit for digit.`,
  );
  if (whyNoClickHouse() === null) {
    run.progress(`${name}: ClickHouse`);
    const { store } = service;
    const { place } = engine;
    const compared = await compareWithClickHouse({ store, place, checkId: check.id, rounds });
    for (const { question, source, ms } of compared.rows) {
      rows.push([`${name}, ${source}`, question, ...ms.map((one) => one.toFixed(0)), '']);
      if (question === 'p95') figures[`${key}_${source.toLowerCase()}_p95_ms`] = (ms[1] ?? 0).toFixed(0);
    }
    notes.push(
      `${name}, columns and ClickHouse: asked of the threads of analytics in turns, with equal answers, at a load of ${loadavg()[0]?.toFixed(1)}. Feeding ClickHouse took ${((compared.feedMs * 1000) / count).toFixed(1)} µs a result; it has ${(compared.bytes / count).toFixed(1)} bytes of each.`,
    );
  }
  notes.push(
    `${name}: counting the ${count} slots of these 30 days took ${cold.toFixed(0)} ms from the ledger and ${sealed.toFixed(0)} ms once they were sealed, which took ${(slotSealMs / 1000).toFixed(1)} s.`,
  );
  figures[`${key}_coverage_ms`] = sealed.toFixed(0);
  figures[`${key}_plain_sql_ms`] = plain.ms.toFixed(0);
}

/** Time to read the counts of 30 days; the median of some rounds. */
async function coverageMs(service: ServiceBench, checkId: string, rounds: number): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    const from = Date.now() - 30 * dayMs;
    const { status, body } = await service.call('GET', `/v1/checks/${checkId}/slots/count?from=${from}`);
    took.push(performance.now() - start);
    if (status !== 200 || body.due === 0) throw new Error(JSON.stringify(body));
  }
  return quantile(took, 0.5);
}

/** The results must be equal, otherwise comparing times is meaningless. */
function compare(
  body: { series: { runLocation: string; data: { responseTime_p95: number }[] }[] },
  plain: PlainAnswer,
): void {
  for (const { runLocation, data } of body.series) {
    const [ours, theirs] = [
      data[0]?.responseTime_p95 ?? Number.NaN,
      plain.p95.get(runLocation) ?? Number.NaN,
    ];
    if (Math.abs(ours - theirs) > 1e-6) throw new Error(`p95 at ${runLocation}: ${ours}, by SQL ${theirs}`);
  }
  if (body.series.length !== plain.p95.size) throw new Error('not the same locations');
}
