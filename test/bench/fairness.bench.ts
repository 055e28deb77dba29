import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import { type RunningService, startServiceProcess } from '../helpers/picket-process.ts';
import { startHttpReceiver } from '../helpers/service/alert-receivers.ts';
import { findPostgres, startPostgres } from '../helpers/service/postgres.ts';
import { openPagesOnPostgres, openPagesOnSqlite } from './parts/pages-data.ts';
import { type BenchAccount, type BenchPlace, createAccount, shareChecks } from './parts/two-accounts.ts';
import { type Bench, type BenchReport, type BenchRun, numberOption, quantile, textOption } from './report.ts';

/** What account B does all the time, each of them one after the other. */
const probes = ['report', 'public page', 'list', 'write', 'claim', 'channel test'] as const;
type Probe = (typeof probes)[number];
type Times = Readonly<Record<Probe, readonly number[]>>;

interface Stage {
  readonly service: RunningService;
  readonly a: BenchAccount;
  readonly b: BenchAccount;
  readonly hangingUrl: string;
  readonly healthyUrl: string;
}

/** As many connections as it has requests: the loads are not to wait for each other. */
const dispatcher = new Agent({
  connections: null,
  pipelining: 1,
  headersTimeout: 120_000,
  bodyTimeout: 120_000,
});

/** `npm run bench -- fairness [--seconds=10] [--checks=400] [--results=200000] [--engine=sqlite|postgres] [--load=analytics]` */
const bench: Bench = {
  title: 'Two accounts on one service: what B waits for alone, and beside the heaviest that A may do',
  async run(run): Promise<BenchReport> {
    const only = textOption(run, 'engine', '');
    const rows: string[][] = [];
    const figures: Record<string, string | number> = { load_before: loadavg()[0]?.toFixed(1) ?? '' };
    if (only !== 'postgres')
      await withStage({}, run, (stage) => measure(run, 'SQLite', stage, rows, figures));
    if (only !== 'sqlite' && findPostgres() !== null) {
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
        'Worst and, behind the slash, median latency of each thing that B does, one request after the other. The ratio is that of the worst latencies, beside A and alone, of the probe where it is largest. Service, database, load and measurement share the cores: what A takes of them counts as well. Rate limits are off, but A triggers sessions at the pace of the default limit, of 100 checks each.',
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
  const only = textOption(run, 'load', '');
  const prepared = await prepare(stage);
  await probe(stage, prepared, 3);
  run.progress(`${engine}: B alone`);
  const alone = await probe(stage, prepared, seconds);
  rows.push([engine, 'nothing', ...probes.map((name) => worst(alone[name])), '']);
  for (const [name, load] of Object.entries(loads)) {
    if (only !== '' && only !== name) continue;
    run.progress(`${engine}: A runs ${name}`);
    const stop = new AbortController();
    const loading = load(stage, prepared, stop.signal);
    const beside = await probe(stage, prepared, seconds);
    stop.abort();
    await loading;
    const ratios = probes.map((one) => Math.max(...beside[one]) / Math.max(...alone[one]));
    const largest = Math.max(...ratios);
    const where = probes[ratios.indexOf(largest)];
    rows.push([engine, name, ...probes.map((one) => worst(beside[one])), `${largest.toFixed(1)} (${where})`]);
    run.progress(`${engine}: ${rows.at(-1)?.slice(1).join('; ')}`);
    figures[`${engine.toLowerCase()}_${name}_worst_ratio`] = largest.toFixed(1);
    await delay(1_000);
  }
}

interface Prepared {
  readonly checkIds: readonly string[];
  readonly locationKeys: Readonly<Record<'a' | 'b', string>>;
  readonly hangingChannels: readonly number[];
  readonly healthyChannel: number;
}

async function prepare(stage: Stage): Promise<Prepared> {
  const { a, b, hangingUrl, healthyUrl } = stage;
  const locationKey = async (account: BenchAccount) => {
    const made = await call(stage, account.keys.ADMIN, 'POST', '/v1/private-locations', {
      name: 'l',
      slugName: `l-${randomUUID().slice(0, 8)}`,
    });
    return String(made.keys[0].rawKey);
  };
  const channel = async (account: BenchAccount, url: string) =>
    Number(
      (
        await call(stage, account.keys.ADMIN, 'POST', '/v1/alert-channels', {
          type: 'WEBHOOK',
          config: { name: 'w', url, method: 'POST' },
        })
      ).id,
    );
  for (const [name, account] of [
    ['a', a],
    ['b', b],
  ] as const) {
    await call(stage, account.keys.ADMIN, 'POST', '/v1/dashboards', {
      header: name,
      tags: ['team-1', 'team-2', 'team-3', 'team-4'],
      customUrl: `fairness-${name}`,
      paginate: false,
    });
  }
  const checks = await call(stage, a.keys.READ_ONLY, 'GET', '/v1/checks?limit=100');
  return {
    checkIds: (checks as { id: string }[]).map(({ id }) => id),
    locationKeys: { a: await locationKey(a), b: await locationKey(b) },
    hangingChannels: [await channel(a, `${hangingUrl}/1`), await channel(a, `${hangingUrl}/2`)],
    healthyChannel: await channel(b, healthyUrl),
  };
}

/** What B does, for some seconds. */
async function probe(stage: Stage, prepared: Prepared, seconds: number): Promise<Times> {
  const { b } = stage;
  const endsAt = performance.now() + seconds * 1_000;
  const acts: Record<Probe, () => Promise<unknown>> = {
    report: () => call(stage, b.keys.READ_ONLY, 'GET', '/v1/reporting?quickRange=last7Days'),
    'public page': () => call(stage, null, 'GET', '/v1/public/dashboards/fairness-b'),
    list: () => call(stage, b.keys.READ_ONLY, 'GET', '/v1/checks?limit=100'),
    write: () =>
      call(stage, b.keys.READ_WRITE, 'POST', '/v1/variables', {
        key: `K${randomUUID().replaceAll('-', '')}`,
        value: 'v',
      }),
    claim: () => claim(stage, prepared.locationKeys.b, 0),
    'channel test': () =>
      call(stage, b.keys.READ_WRITE, 'POST', `/v1/alert-channels/${prepared.healthyChannel}/test`),
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

type Load = (stage: Stage, prepared: Prepared, stop: AbortSignal) => Promise<unknown>;

/** The heaviest that each role allows. */
const loads: Readonly<Record<string, Load>> = {
  analytics: (stage, { checkIds }, stop) =>
    repeat(8, stop, () =>
      call(stage, stage.a.keys.READ_ONLY, 'POST', '/v1/analytics/checks', {
        checkIds,
        quickRange: 'last30Days',
      }),
    ),
  exports: (stage, _, stop) =>
    repeat(8, stop, () =>
      call(stage, stage.a.keys.READ_ONLY, 'GET', '/v1/reporting.csv?quickRange=last30Days'),
    ),
  deployments: (stage, _, stop) => repeat(1, stop, () => deploy(stage, 1_000)),
  sessions: (stage, { checkIds }, stop) =>
    // At the pace that RATE_LIMIT_PER_MINUTE allows by default: ten a second.
    repeat(8, stop, async () => {
      await call(stage, stage.a.keys.READ_RUN, 'POST', '/v1/check-sessions/trigger', {
        target: { checkId: checkIds },
      });
      await delay(800, undefined, { signal: stop });
    }),
  claims: (stage, { locationKeys }, stop) =>
    repeat(2_000, stop, () => claim(stage, locationKeys.a, 20_000, stop)),
  pages: (stage, _, stop) =>
    repeat(16, stop, () => call(stage, null, 'GET', '/v1/public/dashboards/fairness-a')),
  'hanging webhooks': (stage, { hangingChannels }, stop) =>
    repeat(50, stop, (number) =>
      call(stage, stage.a.keys.READ_WRITE, 'POST', `/v1/alert-channels/${hangingChannels[number % 2]}/test`),
    ),
};

async function repeat(
  atOnce: number,
  stop: AbortSignal,
  act: (number: number) => Promise<unknown>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: atOnce }, async (_, number) => {
      while (!stop.aborted) {
        await act(number).catch((thrown: Error) => {
          // It is refused where it is too much, and ends with the measurement.
          if (!stop.aborted && !/: (429|502|503) /.test(thrown.message)) throw thrown;
          return delay(1_000, undefined, { signal: stop }).catch(() => undefined);
        });
      }
    }),
  );
}

async function deploy(stage: Stage, count: number): Promise<void> {
  const logicalId = `p-${randomUUID().slice(0, 8)}`;
  const resources = Array.from({ length: count }, (_, number) => ({
    type: 'check',
    logicalId: `check-${number}`,
    payload: {
      checkType: 'URL',
      name: `d ${number}`,
      activated: false,
      request: { url: 'http://target.test/', method: 'GET' },
    },
  }));
  const key = stage.a.keys.READ_WRITE;
  const { id } = await call(stage, key, 'POST', '/v1/projects/deploy', {
    project: { logicalId, name: logicalId },
    resources,
  });
  for (;;) {
    const { endedAt } = await call(stage, key, 'GET', `/v1/projects/${logicalId}/deployments/${id}`);
    if (endedAt !== null) return;
    await delay(100);
  }
}

async function claim(stage: Stage, key: string, waitMs: number, signal?: AbortSignal): Promise<void> {
  const [agentId, sessionId] = [randomUUID(), randomUUID()];
  const body = {
    agentId,
    sessionId,
    version: '8.0.0',
    platform: 'bench',
    checkTypes: ['URL'],
    freeSlots: { probe: 1, script: 0 },
    waitMs,
  };
  await call(stage, key, 'POST', '/v1/agent/claims', body, signal);
}

async function call(
  { service }: Stage,
  key: string | null,
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
): Promise<any> {
  const answer = await fetch(service.url + path, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
    dispatcher,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
  const isJson = answer.headers.get('content-type')?.includes('json') ?? false;
  return isJson && text !== '' ? JSON.parse(text) : text;
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
    const template = await templateOf(environment, a);
    run.progress('filling the database');
    const database =
      databaseUrl === undefined ? await openPagesOnSqlite(dataDir) : await openPagesOnPostgres(databaseUrl);
    const [checks, results] = [numberOption(run, 'checks', 400), numberOption(run, 'results', 200_000)];
    await database.fill({ templateId: template, checks, results, detail: '{}' });
    await database.close();
    await shareChecks(place, b.accountId);
    await using service = await startServiceProcess(environment);
    await work({ service, a, b, hangingUrl: hanging.url, healthyUrl: healthy.url });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** A check of A to be copied; the service that made it has ended. */
async function templateOf(environment: Readonly<Record<string, string>>, a: BenchAccount): Promise<string> {
  const service = await startServiceProcess(environment);
  const stage = { service } as Stage;
  await call(stage, a.keys.ADMIN, 'POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
  const body = {
    name: 'template',
    frequency: 1440,
    privateLocations: ['lab'],
    request: { url: 'http://target.test/' },
  };
  const { id } = await call(stage, a.keys.ADMIN, 'POST', '/v1/checks/url', body);
  service.process.child.kill('SIGTERM');
  await once(service.process.child, 'close');
  return String(id);
}

function worst(times: readonly number[]): string {
  return `${Math.max(...times).toFixed(0)} / ${quantile(times, 0.5).toFixed(0)}`;
}
