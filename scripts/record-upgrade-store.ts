// Records the data that a checkout stores: `node scripts/setup.mjs scripts/record-upgrade-store.ts CHECKOUT NAME`.
//
// The checkout's own service fills an SQLite store through its own API, its own agent runs checks of every type, and
// all rows become test/helpers/service/upgrades/stores/NAME.json.br: the test of upgrades loads them into both engines.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import fc from 'fast-check';
import type { z } from 'zod';
import { freePort } from '../test/helpers/free-port.ts';
import { valuesOf } from '../test/helpers/service/api-requests/schema-values.ts';
import { storedRows } from '../test/helpers/service/upgrades/recorded-store.ts';

// biome-ignore lint/suspicious/noExplicitAny: modules and answers of a build that is not known here
type Any = any;

/** Locations of required modules in different builds, the newest first. */
const places = {
  harness: ['test/helpers/service/service.ts', 'test/helpers/service.ts'],
  inhabited: [
    'test/helpers/service/api-requests/inhabited-account.ts',
    'test/helpers/api-requests/inhabited-account.ts',
  ],
  requests: [
    'test/helpers/service/api-requests/api-requests.ts',
    'test/helpers/api-requests/api-requests.ts',
  ],
  minimal: ['test/helpers/service/minimal-value.ts', 'test/service/minimal-value.ts'],
  shapes: ['test/helpers/service/upgrades/shapes.ts'],
  routes: ['src/server/features.ts', 'src/service/route-table.ts', 'src/protocol/index.ts'],
  failure: ['src/checks/contract/failure.ts', 'src/checks/failure.ts'],
  samples: ['test/integration/conformance/samples/samples.ts', 'test/conformance/samples/samples.ts'],
};

/** Maximum wait for the agent's results. Types that this machine cannot run produce none. */
const runsMs = 45_000;
const tries = 60;

const [checkout, name] = process.argv.slice(2);
if (!checkout || !name) throw new Error('usage: record-upgrade-store.ts CHECKOUT NAME');
const root = resolve(checkout);
const output = join(import.meta.dirname, '../test/helpers/service/upgrades/stores');
const folder = mkdtempSync(join(tmpdir(), 'picket-upgrade-'));
try {
  const known = await fill();
  const shapes = (await moduleOf('shapes'))?.shapesOfThisBuild();
  const recorded = { ...storedRows(join(folder, 'picket.sqlite')), known, shapes };
  const packed = brotliCompressSync(JSON.stringify(recorded));
  mkdirSync(output, { recursive: true });
  writeFileSync(join(output, `${name}.json.br`), packed);
  const rows = Object.entries(recorded.tables).map(([table, content]) => `${table} ${content.length}`);
  console.log(`${name}: ${packed.length} bytes, ${recorded.migrations.length} migrations`);
  console.log(rows.join(', '));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

function placeOf(what: keyof typeof places): string | undefined {
  return places[what].map((place) => join(root, place)).find((path) => existsSync(path));
}

async function moduleOf(what: keyof typeof places): Promise<Any> {
  const path = placeOf(what);
  return path === undefined ? undefined : import(pathToFileURL(path).href);
}

/** @returns the ids of the created objects, by their paths. */
async function fill(): Promise<Record<string, string[][]>> {
  const { openHarness, openBench, createLocation } = await moduleOf('harness');
  const harness = await (openHarness ?? openBench)({ folder });
  await raiseAlert(harness);
  const inhabited = await moduleOf('inhabited');
  const routes: Any[] = (await moduleOf('routes')).allRoutes ?? [];
  let location: Any;
  const known: Record<string, string[][]> = {};
  if (inhabited) {
    const account = await inhabited.inhabit(harness);
    location = account.location;
    const { sendPlanned } = await moduleOf('requests');
    for (const route of routes) await sendFull(account, route, sendPlanned);
    for (const { method, path } of routes) {
      const values = method === 'GET' ? account.known.of(path) : [];
      if (values.length > 0) known[path] = values;
    }
  } else {
    location = await createLocation(harness, 'lab');
    await sendMinimal(harness, routes);
  }
  await runChecks(harness, location);
  for (const [start, value] of Object.entries(harness)) {
    if (/^start(?!Retention|Upkeep)/.test(start) && typeof value === 'function') value();
  }
  // These jobs do their work at once; slower work is not waited for.
  await new Promise((done) => setTimeout(done, 5_000));
  await harness.close();
  return known;
}

/** A failing check whose alert is notified, before a maintenance window of the account pauses its checks. */
async function raiseAlert(harness: Any): Promise<void> {
  const { createLocation, createCheck, TestAgent, reportOf } = await moduleOf('harness');
  const { failure } = (await moduleOf('failure')) ?? {};
  if (!failure || !TestAgent) return;
  const config = { name: 'hook', url: 'http://127.0.0.1:9/hook' };
  const channel = await harness.call('POST', '/v1/alert-channels', { type: 'WEBHOOK', config });
  if (channel.status !== 201) return;
  const location = await createLocation(harness, 'early');
  const often = { frequency: 0, frequencyOffset: 10, doubleCheck: false };
  const alertChannelSubscriptions = [{ alertChannelId: channel.body.id, activated: true }];
  const check = { ...often, privateLocations: ['early'], alertChannelSubscriptions };
  const made = await createCheck(harness, { ...check, tags: ['alerting'] });
  harness.startScheduler();
  const agent = new TestAgent(harness, location);
  const refused = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 10.0.0.5:80');
  for (let sent = 0; sent === 0; ) {
    const runs = await agent.claim({ waitMs: 5_000 });
    const fields = { failure: refused, errorMessages: [refused.message] };
    if (runs.length > 0) await agent.report(runs.map((run: Any) => reportOf(run, fields)));
    sent = runs.length;
  }
  await harness.call('PUT', `/v1/checks/url/${made.id}`, { activated: false });
}

/** Sends a request with all the fields that its route accepts. */
async function sendFull(account: Any, route: Any, sendPlanned: Any): Promise<void> {
  const schema = route.documentedBody ?? route.body;
  const isWritten =
    ['POST', 'PUT', 'PATCH'].includes(route.method) && schema && route.credential === 'account';
  // Operations that wait, end created objects, or belong to other protocols.
  const isOther = /^(await|call|follow|test|commit|cancel|sign|log)|[Dd]elete|Import$/.test(
    route.operationId,
  );
  if (!isWritten || isOther || route.isBodyRaw) return;
  for (const body of fullest(schema)) {
    const turn = 0;
    const plan = { route, body, query: {}, wrong: undefined, turn, pathValues: 'known', nonsense: [] };
    const outcome = await sendPlanned(account, plan).catch((thrown: Error) => ({ problem: String(thrown) }));
    if (outcome.status < 300) return;
    if (process.env.VERBOSE) console.log(`${route.operationId}: ${outcome.problem?.slice(-300)}`);
  }
}

function fullest(schema: z.ZodType): unknown[] {
  try {
    const samples = fc.sample(valuesOf(schema), { numRuns: tries, seed: 20_261_127 });
    const right = samples.filter((value) => schema.safeParse(value).success);
    const size = (value: unknown) => (JSON.stringify(value).length > 20_000 ? 0 : leaves(value));
    return right.toSorted((left, right) => size(right) - size(left)).slice(0, 8);
  } catch (thrown) {
    console.log(`no body: ${thrown}`);
    return [];
  }
}

function leaves(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, one) => sum + leaves(one), 0);
}

/** Sends the smallest valid request of every creating operation, for builds without an account for tests. */
async function sendMinimal(harness: Any, routes: readonly Any[]): Promise<void> {
  const minimal = await moduleOf('minimal');
  for (const route of routes) {
    if (route.method !== 'POST' || route.credential !== 'account' || route.path.includes('{')) continue;
    const bodies = [minimal?.minimalBody(route), ...(route.body ? fullest(route.body) : [])];
    for (const body of bodies) await harness.call('POST', route.path, body).catch(() => undefined);
  }
}

/** Runs an agent of the checkout with checks of every type that pass and fail. */
async function runChecks(harness: Any, location: Any): Promise<void> {
  const { checkTypes } = await import(pathToFileURL(join(root, 'src/checks/index.ts')).href);
  const samplesFolder = join(placeOf('samples') ?? '', '..');
  const port = await freePort();
  await harness.app.listen({ host: '127.0.0.1', port });
  const started: Any[] = [];
  const ids: string[] = [];
  for (const type of checkTypes) {
    const file = pathToFileURL(join(samplesFolder, `${type.route}.ts`)).href;
    const { samples } = await import(file).catch(() => ({ samples: {} }));
    const runs = await samples.start?.().catch(() => undefined);
    if (!runs) continue;
    started.push(runs);
    for (const [at, body] of [runs.passing, runs.failing[0]?.body].entries()) {
      const check = {
        name: `${type.name} ${at}`,
        privateLocations: ['lab'],
        frequency: 60,
        doubleCheck: false,
      };
      const made = body && (await harness.call('POST', `/v1/checks/${type.route}`, { ...check, ...body }));
      if (made?.status === 201) ids.push(made.body.id);
      else if (made && process.env.VERBOSE) console.log(type.name, JSON.stringify(made.body));
    }
  }
  harness.startScheduler();
  const agent = startAgent(port, location.key);
  const endMs = performance.now() + runsMs;
  for (const checkId of ids) {
    // The agent offers scripts once its sandbox is ready; before that, the service refuses to start them.
    const begin = () => harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId } });
    while ((await begin()).status === 409 && performance.now() < endMs) {
      await new Promise((done) => setTimeout(done, 500));
    }
    const target = { name: 't', projectId: 'project', runLocation: 'lab', target: { checkId } };
    await harness.call('POST', '/v1/test-sessions/trigger', target);
  }
  const results = () => checksWithResults(ids);
  while (performance.now() < endMs && results() < ids.length) {
    await new Promise((done) => setTimeout(done, 500));
  }
  console.log(`${results()} of ${ids.length} checks have results`);
  agent.kill('SIGTERM');
  await once(agent, 'exit');
  for (const runs of started) await runs.close();
}

function checksWithResults(ids: readonly string[]): number {
  const { tables } = storedRows(join(folder, 'picket.sqlite'));
  const seen = new Set((tables.results ?? []).map((row) => row.check_id));
  return ids.filter((id) => seen.has(id)).length;
}

function startAgent(port: number, key: string): ChildProcess {
  return spawn(process.execPath, [join(root, 'src/cli.ts'), 'agent'], {
    stdio: process.env.VERBOSE ? 'inherit' : 'ignore',
    env: {
      PATH: process.env.PATH ?? '',
      SERVICE_URL: `http://127.0.0.1:${port}`,
      API_KEY: key,
      AGENT_ID: 'agent-of-upgrades',
      SPOOL_DIR: join(folder, 'spool'),
      EGRESS_ALLOW: '127.0.0.1,::1',
      ALLOW_UNISOLATED_SCRIPTS: 'true',
      AGENT_HEALTH_PORT: '0',
    },
  });
}
