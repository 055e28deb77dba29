import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { Folding } from '../../src/service/check-metrics/folding.ts';
import { shardCount } from '../../src/service/check-metrics/shards.ts';
import { notPlanned } from '../../src/service/checks/timing/slot-state.ts';
import { freePort } from '../helpers/free-port.ts';
import { startPostgres } from '../helpers/service/postgres.ts';
import {
  createCheck,
  openHarness,
  type ServiceHarness,
  temporaryFolder,
} from '../helpers/service/service.ts';
import { ledgerRow } from '../integration/conformance/store-suites/coverage.ts';
import { resultRow } from '../integration/conformance/store-suites/result-samples.ts';
import { type Bench, type BenchRun, bothEngines, choicesOption, numberOption, quantile } from './report.ts';

/** Needs a Prometheus. */
const bench: Bench = {
  usage: '[--checks=10000] [--scrapes=10] [--engine=sqlite|postgres]',
  title: 'Metrics of each check: scrapes by a real Prometheus, and what counting a result costs',
  async run(run) {
    const checks = numberOption(run, 'checks', 10_000);
    const scrapes = numberOption(run, 'scrapes', 10);
    const engines = choicesOption(run, 'engine', bothEngines);
    const all: Figures[] = [];
    if (engines.includes('sqlite')) all.push(await measure('SQLite', undefined, { run, checks, scrapes }));
    if (engines.includes('postgres')) {
      const server = await startPostgres({ isDurable: true });
      try {
        all.push(await measure('PostgreSQL', await server.createDatabase(), { run, checks, scrapes }));
      } finally {
        await server.stop();
      }
    }
    const figures: Record<string, string | number> = {};
    for (const one of all) {
      for (const [name, value] of Object.entries(one)) {
        if (name !== 'engine') figures[`${one.engine.toLowerCase()}.${name}`] = value;
      }
    }
    return {
      columns: Object.keys(all[0] ?? {}),
      rows: all.map((one) => Object.values(one).map(String)),
      notes: [
        'scrape: `scrape_duration_seconds` of Prometheus, which runs on the same machine; first: with the stored totals to read. bare: the same bytes scraped from a server that only has them. answer: a request by fetch.',
        'Between scrapes a third of the checks have run. fold: CPU of the process for each result that is added to totals.',
      ],
      figures,
    };
  },
};
export default bench;

interface Plan {
  readonly run: BenchRun;
  readonly checks: number;
  readonly scrapes: number;
}

interface Figures extends Record<string, string | number> {
  readonly engine: string;
}

async function measure(engine: string, databaseUrl: string | undefined, plan: Plan): Promise<Figures> {
  const { run, checks, scrapes } = plan;
  const service = await openHarness({ databaseUrl });
  const folder = temporaryFolder();
  try {
    const now = Date.now();
    await service.store.checkTotals.begin(shardCount, now - 400_000);
    run.progress(`${engine}: ${checks} checks`);
    const ids = await makeChecks(service, checks);
    // A run of each check per minute, for five minutes: the amount that the job adds at once.
    for (let minute = 5; minute > 0; minute -= 1)
      await makeRuns(service, ids, now - 70_000 - minute * 60_000);
    const folding = new Folding({ store: service.store, clock: service.clock });
    const before = process.cpuUsage();
    await folding.turn();
    const { user, system } = process.cpuUsage(before);
    const foldUs = (user + system) / (checks * 5);
    if (databaseUrl !== undefined) await analyzed(databaseUrl);
    const address = await service.app.listen({ host: '127.0.0.1', port: 0 });
    run.progress(`${engine}: Prometheus`);
    const scraped = await scrape(service, { address, folder: folder.path, scrapes, ids });
    return {
      engine,
      samples: scraped.samples,
      megabytes: Number((scraped.bytes / 1e6).toFixed(1)),
      scrapeFirstMs: Math.round(scraped.durationsMs[0] ?? 0),
      scrapeP50Ms: Math.round(quantile(scraped.durationsMs.slice(1), 0.5)),
      scrapeMaxMs: Math.round(quantile(scraped.durationsMs.slice(1), 1)),
      bareP50Ms: Math.round(quantile(scraped.bareMs.slice(1), 0.5)),
      answerP50Ms: Math.round(quantile(scraped.answersMs, 0.5)),
      answerCpuP50Ms: Math.round(quantile(scraped.answersCpuMs, 0.5)),
      foldUs: Number(foldUs.toFixed(1)),
    };
  } finally {
    await service.close();
    folder.remove();
  }
}

export async function makeChecks(service: ServiceHarness, count: number): Promise<string[]> {
  const { store, accountId } = service;
  const { id } = await createCheck(service, { activated: false });
  const sample = await store.checks.find(accountId, id);
  if (!sample) throw new Error('the check is not there');
  const ids = Array.from({ length: count }, () => randomUUID());
  for (let start = 0; start < count; start += 500) {
    await store.transaction(async ({ checks }) => {
      for (const [index, one] of ids.slice(start, start + 500).entries()) {
        const write = {
          ...{
            name: `check number ${start + index}`,
            activated: true,
            muted: false,
            groupId: null,
            groupOrder: null,
          },
          ...{ tags: ['env:prod', `team:${index % 20}`], locations: ['lab'], definition: sample.definition },
          ...{ slots: notPlanned, intervalMs: 60_000, runParallel: false, url: null },
        };
        await checks.insert(one, accountId, 'URL', write, Date.now());
      }
    });
  }
  return ids;
}

export async function makeRuns({ store, accountId }: ServiceHarness, ids: readonly string[], start: number) {
  for (let from = 0; from < ids.length; from += 1000) {
    const runs = ids.slice(from, from + 1000).map((checkId, index) => {
      const one = { minute: 0, location: 'lab', kind: 'passed' as const, slotCount: 1 };
      return ledgerRow({ checkId, accountId, start: start + ((from + index) % 60_000), one });
    });
    await store.transaction(async (repositories) => {
      await repositories.runs.insert(runs);
      await repositories.results.insert(
        runs.map((one) => ({
          ...resultRow(one.check_id, accountId, one.slot_at, { responseTime: 20 + (one.slot_at % 700) }),
          run_id: one.id,
          measured: JSON.stringify([
            [200, { responseTime: 91.2, wait: 0.1, dns: 1.9, tcp: 12.1, firstByte: 70.5, download: 6.6 }],
          ]),
        })),
      );
    });
  }
}

async function scrape(
  service: ServiceHarness,
  {
    address,
    folder,
    scrapes,
    ids,
  }: {
    readonly address: string;
    readonly folder: string;
    readonly scrapes: number;
    readonly ids: readonly string[];
  },
) {
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, service.key);
  await using bare = await serveHeld();
  const config = join(folder, 'prometheus.yaml');
  writeFileSync(
    config,
    `scrape_configs:
  - job_name: checks
    metrics_path: /metrics/checks
    scrape_interval: 21s
    scrape_timeout: 10s
    authorization: { credentials_file: '${keyFile}' }
    static_configs: [{ targets: ['${new URL(address).host}'] }]
  - job_name: bare
    scrape_interval: 21s
    scrape_timeout: 10s
    static_configs: [{ targets: ['${bare.host}'] }]
`,
  );
  const port = await freePort();
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => prometheus.once('close', resolve));
  try {
    const seen = new Map<number, number>();
    const bareMs = new Map<number, number>();
    while (seen.size < scrapes) {
      await delay(500);
      const known = seen.size;
      await noteScrapes(port, 'checks', seen);
      await noteScrapes(port, 'bare', bareMs);
      // Right after a scrape, so that creating runs does not disturb the next one.
      if (seen.size === known) continue;
      if (known === 0) bare.hold(await answerOf(service, address));
      const third = seen.size % 3;
      await makeRuns(
        service,
        ids.filter((_id, index) => index % 3 === third),
        Date.now(),
      );
    }
    const [samples] = await query(port, 'scrape_samples_scraped{job="checks"}[120s]');
    const answersMs: number[] = [];
    const answersCpuMs: number[] = [];
    let bytes = 0;
    for (let count = 0; count < 3; count += 1) {
      await delay(4000);
      const startMs = performance.now();
      const before = process.cpuUsage();
      bytes = (await answerOf(service, address)).length;
      const { user, system } = process.cpuUsage(before);
      answersCpuMs.push((user + system) / 1000);
      answersMs.push(performance.now() - startMs);
    }
    return {
      durationsMs: inOrder(seen),
      bareMs: inOrder(bareMs),
      samples: Number(samples?.values.at(-1)?.[1] ?? 0),
      bytes,
      answersMs,
      answersCpuMs,
    };
  } finally {
    prometheus.kill('SIGTERM');
    await ended;
  }
}

type Series = { readonly values: readonly (readonly [number, string])[] };

async function query(port: number, expression: string): Promise<readonly Series[]> {
  try {
    const answer = await fetch(
      `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`,
    );
    return ((await answer.json()) as { data: { result: readonly Series[] } }).data.result;
  } catch {
    // It is still starting.
    return [];
  }
}

/** A database that has run for a while has table statistics. */
async function analyzed(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('analyze');
  await client.end();
}

/** Records the durations of scrapes; failed ones are ignored. */
async function noteScrapes(port: number, job: string, seen: Map<number, number>): Promise<void> {
  const [ups] = await query(port, `up{job="${job}"}[120s]`);
  const good = new Set((ups?.values ?? []).filter(([, value]) => value === '1').map(([at]) => at));
  const [one] = await query(port, `scrape_duration_seconds{job="${job}"}[120s]`);
  for (const [at, value] of one?.values ?? []) if (good.has(at)) seen.set(at, Number(value) * 1000);
}

function inOrder(seen: ReadonlyMap<number, number>): number[] {
  return [...seen].sort(([left], [right]) => left - right).map(([, ms]) => ms);
}

async function answerOf({ key }: ServiceHarness, address: string): Promise<Buffer<ArrayBuffer>> {
  const answer = await fetch(`${address}/metrics/checks`, { headers: { authorization: `Bearer ${key}` } });
  return Buffer.from(await answer.arrayBuffer());
}

/** A server with one fixed response: the cost of a scrape without the service. */
async function serveHeld() {
  let held = Buffer.alloc(0);
  const server = createServer((_request, response) => {
    response.writeHead(held.length === 0 ? 503 : 200, { 'content-type': 'text/plain; version=0.0.4' });
    response.end(held);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(body: Buffer<ArrayBuffer>) {
      held = body;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
