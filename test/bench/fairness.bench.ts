import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type RunningService, startServiceProcess } from '../helpers/picket-process.ts';
import { startHttpReceiver } from '../helpers/service/alert-receivers.ts';
import { findPostgres, startPostgres } from '../helpers/service/postgres.ts';
import { AccountCalls } from './parts/account-calls.ts';
import { type HeavyParts, loadNames, startLoad } from './parts/heavy-loads.ts';
import { openPagesOnPostgres, openPagesOnSqlite } from './parts/pages-data.ts';
import {
  type BenchAccount,
  type BenchPlace,
  createAccount,
  shareChecks,
  untilSealed,
} from './parts/two-accounts.ts';
import {
  type Bench,
  type BenchReport,
  type BenchRun,
  bothEngines,
  choicesOption,
  numberOption,
  quantile,
} from './report.ts';

/** Requests that account B makes continuously, each kind in sequence. */
const probes = ['report', 'public page', 'list', 'write', 'claim', 'channel test'] as const;
type Probe = (typeof probes)[number];
type Times = Readonly<Record<Probe, number[]>>;

interface Stage {
  readonly service: RunningService;
  readonly calls: AccountCalls;
  /** Resolves when no more results are being sealed: until then, reports take longer. */
  settled(): Promise<void>;
  readonly a: BenchAccount;
  readonly b: BenchAccount;
  /** For the location of A's checks. */
  readonly checksLocationKey: string;
  readonly hangingUrl: string;
  readonly healthyUrl: string;
}

const bench: Bench = {
  usage:
    '[--seconds=10] [--rounds=3] [--checks=400] [--results=200000] [--engine=sqlite|postgres] [--load=analytics,claims]',
  title: 'Two accounts on one service: what B waits for alone, and beside the heaviest that A may do',
  async run(run): Promise<BenchReport> {
    const engines = choicesOption(run, 'engine', bothEngines);
    const rows: string[][] = [];
    const figures: Record<string, string | number> = { load_before: loadavg()[0]?.toFixed(1) ?? '' };
    if (engines.includes('sqlite'))
      await withStage({}, run, (stage) => measure(run, 'SQLite', stage, rows, figures));
    if (engines.includes('postgres') && findPostgres() !== null) {
      const server = await startPostgres({ isDurable: true });
      try {
        const databaseUrl = await server.createDatabase();
        await withStage({ databaseUrl }, run, (stage) => measure(run, 'PostgreSQL', stage, rows, figures));
      } finally {
        await server.stop();
      }
    }
    figures.load_after = loadavg()[0]?.toFixed(1) ?? '';
    return {
      columns: ['engine', 'A runs', ...probes.map((probe) => `${probe} (ms)`), 'worst ratio'],
      rows,
      notes: [
        'Worst and, behind the slash, median latency of each thing that B does, one request after the other: alone and, behind the comma, beside A, over the same time in turns. The ratio is that of the worst latencies, beside A and alone, of the probe where it is largest. A and B have connections and threads of their own; service, database, load and measurement share the cores: what A takes of them counts as well. Rate limits are off, but A triggers sessions at the pace of the default limit, of 100 checks each.',
      ],
      figures,
    };
  },
};
export default bench;

async function measure(
  run: BenchRun,
  engine: string,
  stage: Stage,
  rows: string[][],
  figures: Record<string, string | number>,
): Promise<void> {
  const seconds = numberOption(run, 'seconds', 10);
  const rounds = numberOption(run, 'rounds', 3);
  const prepared = await prepare(stage);
  run.progress(`${engine}: results become columns`);
  await stage.settled();
  await probe(stage, prepared, 3);
  for (const name of choicesOption(run, 'load', loadNames)) {
    const alone = noTimes();
    const beside = noTimes();
    // Alternating, with equal durations: occasional events affect both.
    for (let round = 1; round <= rounds; round += 1) {
      run.progress(`${engine}: B alone, then beside ${name}, ${round} of ${rounds}`);
      addTimes(alone, await probe(stage, prepared, seconds));
      const load = startLoad(name, prepared.heavy);
      addTimes(beside, await probe(stage, prepared, seconds));
      await load.stop();
      await delay(1_000);
    }
    const ratios = probes.map((one) => Math.max(...beside[one]) / Math.max(...alone[one]));
    const largest = Math.max(...ratios);
    const where = probes[ratios.indexOf(largest)];
    const times = probes.map((one) => `${worst(alone[one])}, ${worst(beside[one])}`);
    rows.push([engine, name, ...times, `${largest.toFixed(1)} (${where})`]);
    run.progress(`${engine}: ${rows.at(-1)?.slice(1).join('; ')}`);
    figures[`${engine.toLowerCase()}_${name}_worst_ratio`] = largest.toFixed(1);
  }
}

const noTimes = () => Object.fromEntries(probes.map((name) => [name, []])) as unknown as Times;

function addTimes(all: Times, more: Times): void {
  for (const name of probes) all[name].push(...more[name]);
}

interface Prepared {
  readonly heavy: HeavyParts;
  readonly locationKey: string;
  readonly healthyChannel: number;
}

async function prepare(stage: Stage): Promise<Prepared> {
  const { service, calls, a, b, checksLocationKey, hangingUrl, healthyUrl } = stage;
  const locationKey = async ({ keys }: BenchAccount) => {
    const body = { name: 'l', slugName: `l-${randomUUID().slice(0, 8)}` };
    return String((await calls.call(keys.ADMIN, 'POST', '/v1/private-locations', body)).keys[0].rawKey);
  };
  const channel = async ({ keys }: BenchAccount, url: string) => {
    const body = { type: 'WEBHOOK', config: { name: 'w', url, method: 'POST' } };
    return Number((await calls.call(keys.ADMIN, 'POST', '/v1/alert-channels', body)).id);
  };
  for (const [name, account] of [
    ['a', a],
    ['b', b],
  ] as const) {
    await calls.call(account.keys.ADMIN, 'POST', '/v1/dashboards', {
      header: name,
      tags: ['team-1', 'team-2', 'team-3', 'team-4'],
      customUrl: `fairness-${name}`,
      paginate: false,
    });
  }
  const checks: { id: string }[] = await calls.call(a.keys.READ_ONLY, 'GET', '/v1/checks?limit=100');
  return {
    heavy: {
      url: service.url,
      a,
      checkIds: checks.map(({ id }) => id),
      locationKey: await locationKey(a),
      checksLocationKey,
      hangingChannels: [await channel(a, `${hangingUrl}/1`), await channel(a, `${hangingUrl}/2`)],
    },
    locationKey: await locationKey(b),
    healthyChannel: await channel(b, healthyUrl),
  };
}

/** Runs B's requests for some seconds. */
async function probe(stage: Stage, prepared: Prepared, seconds: number): Promise<Times> {
  const { b, calls } = stage;
  const endsAt = performance.now() + seconds * 1_000;
  const acts: Record<Probe, () => Promise<unknown>> = {
    report: () => calls.call(b.keys.READ_ONLY, 'GET', '/v1/reporting?quickRange=last7Days'),
    'public page': () => calls.call(null, 'GET', '/v1/public/dashboards/fairness-b'),
    list: () => calls.call(b.keys.READ_ONLY, 'GET', '/v1/checks?limit=100'),
    write: () =>
      calls.call(b.keys.READ_WRITE, 'POST', '/v1/variables', {
        key: `K${randomUUID().replaceAll('-', '')}`,
        value: 'v',
      }),
    claim: () => calls.claim(prepared.locationKey, 0),
    'channel test': () =>
      calls.call(b.keys.READ_WRITE, 'POST', `/v1/alert-channels/${prepared.healthyChannel}/test`),
  };
  const measured = await Promise.all(
    probes.map(async (name) => {
      const times: number[] = [];
      while (performance.now() < endsAt) {
        const startedAt = performance.now();
        await acts[name]();
        times.push(performance.now() - startedAt);
        await delay(20);
      }
      return [name, times] as const;
    }),
  );
  return Object.fromEntries(measured) as unknown as Times;
}

async function withStage(
  { databaseUrl }: { readonly databaseUrl?: string },
  run: BenchRun,
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'picket-fairness-'));
  const place: BenchPlace = { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) };
  const environment = {
    ...{
      DATA_DIR: dataDir,
      PAGES: 'off',
      EGRESS_ALLOW: '127.0.0.1',
      RATE_LIMIT_PER_MINUTE: '0',
      ALERTS_PER_MINUTE: '0',
    },
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
  };
  await using hanging = await startHttpReceiver();
  await using healthy = await startHttpReceiver();
  hanging.answerNext(...Array<number>(20_000).fill(0));
  try {
    const [a, b] = [await createAccount(place), await createAccount(place)];
    const { templateId, checksLocationKey } = await templateOf(environment, a);
    run.progress('filling the database');
    const database =
      databaseUrl === undefined ? await openPagesOnSqlite(dataDir) : await openPagesOnPostgres(databaseUrl);
    const [checks, results] = [numberOption(run, 'checks', 400), numberOption(run, 'results', 200_000)];
    await database.fill({ templateId, checks, results, detail: '{}' });
    await database.close();
    await shareChecks(place, b.accountId);
    await using service = await startServiceProcess(environment);
    const calls = new AccountCalls(service.url);
    const settled = () => untilSealed(place);
    const receivers = { hangingUrl: hanging.url, healthyUrl: healthy.url };
    await work({ service, calls, settled, a, b, checksLocationKey, ...receivers });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** A check of A to copy, and a key of its location; the service that created them has ended. */
async function templateOf(environment: Readonly<Record<string, string>>, a: BenchAccount) {
  const service = await startServiceProcess(environment);
  const calls = new AccountCalls(service.url);
  const lab = { name: 'lab', slugName: 'lab' };
  const { keys } = await calls.call(a.keys.ADMIN, 'POST', '/v1/private-locations', lab);
  const body = {
    name: 'template',
    frequency: 1440,
    privateLocations: ['lab'],
    request: { url: 'http://target.test/' },
  };
  const { id } = await calls.call(a.keys.ADMIN, 'POST', '/v1/checks/url', body);
  service.process.child.kill('SIGTERM');
  await once(service.process.child, 'close');
  return { templateId: String(id), checksLocationKey: String(keys[0].rawKey) };
}

function worst(times: readonly number[]): string {
  return `${Math.max(...times).toFixed(0)} / ${quantile(times, 0.5).toFixed(0)}`;
}
