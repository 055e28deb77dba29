import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { randomOf } from '../../helpers/alert-histories/history.ts';
import { isNight } from '../../helpers/night.ts';
import { type PicketProcess, type RunningAgent, startAgentProcess } from '../../helpers/picket-process.ts';
import { startHttpReceiver, startMailReceiver } from '../../helpers/service/alert-receivers.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { type ServiceProcess, startServiceProcess } from '../../helpers/service/service-process.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';
import { StateSurfaces } from '../../helpers/service/state-surfaces.ts';
import type { Said } from '../../helpers/surfaces/said.ts';
import { alertTemplate } from '../../helpers/surfaces/sent-states.ts';

const key = 'bootstrap-key-of-the-tests';
const intervalMs = 10_000;
/** Until the second slot can no longer be measured. */
const silenceMs = 3 * intervalMs;
/** How long public responses are cached. */
const keptMs: Readonly<Record<string, number>> = {
  dashboard: 10_000,
  'dashboard in the browser': 15_000,
  'first line of the dashboard': 15_000,
  'status page': 10_000,
  'status page in the browser': 15_000,
  'first line of the status page': 15_000,
  'badge of the status page': 10_000,
  picket_check_state: 3_000,
  picket_check_up: 3_000,
  probe_success: 3_000,
  overview: 2_000,
  'overview by group': 2_000,
  'overview of what passes': 2_000,
  'overview of a tag': 2_000,
  // It is written once a minute.
  'remote write': 65_000,
};
/** Their state of a check remains until it passes: an incident does not end because its check is not measured. */
const ofIncidents = [
  ...['picket alerts', 'picket causes', 'list_open_alerts', 'alerts page', 'webhook', 'mail'],
  ...['status page', 'status page in the browser', 'feed', 'Atom feed', 'RSS feed'],
];
/** They cover several checks together, or only some of them. */
const ofSeveral = [
  ...ofIncidents,
  ...['first line of the dashboard', 'first line of the status page', 'first line of the overview'],
  ...['badge of the group', 'badge of the status page', 'overview of what passes', 'overview of a tag'],
  ...['picket status, as printed', 'remote write', 'objective', 'page of the objective'],
];
/** Reading takes a moment, and so does recording a run that has ended. */
const slackMs = 3_000;
/** The first part is always the same; then the seed determines the events, their location and their duration. */
const steps = Number(process.env['SURFACES_STEPS'] ?? (isNight ? 20 : 3));
const seed = Number(process.env['SURFACES_SEED'] ?? (isNight ? Date.now() % 1_000_000 : 11));
/** Duration of a step: by day long enough for a run in it. */
const [shortestMs, spreadMs] = isNight ? [5_000, 35_000] : [12_000, 10_000];
const noPostgres = whyNoPostgres();
const engines = noPostgres === null && isNight ? ['SQLite', 'PostgreSQL'] : ['SQLite'];

const started: PicketProcess[] = [];
const folders: ReturnType<typeof temporaryFolder>[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
  for (const folder of folders.splice(0)) folder.remove();
});

/** Creates a page with one component for each check, named by the id of the check. */
async function makeStatusPage(
  make: Make,
  url: string,
  checks: readonly { readonly id: string; readonly tags: readonly string[] }[],
): Promise<void> {
  const { id: statusPageId } = await make('/v1/status-pages', { name: url, url, version: 3 });
  for (const { id, tags } of checks) {
    const component = { statusPageId, name: id };
    const { id: componentId } = await make('/v1/status-pages/components', component);
    await make('/v1/status-pages/automation-rules', {
      ...{ statusPageId, name: id, tags: [tags[0]], firstUpdate: 'down', lastUpdate: 'up' },
      components: [{ componentId, targetImpact: 'MAJOR_OUTAGE' }],
    });
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Make = (path: string, body: unknown) => Promise<any>;

/** The facts about a check, derived from its slots alone. */
interface Truth {
  readonly measuredAt: number;
  readonly hasFailed: boolean;
  readonly isUnjudged: boolean;
  readonly isUnderWay: boolean;
  /** The ends of its runs that blamed the target. */
  readonly blamed: readonly string[];
}

async function truthOf(service: ServiceProcess, id: string, now: number): Promise<Truth> {
  const range = `from=${now - 10 * 60_000}&to=${now + 60_000}&limit=100`;
  const { body } = await service.call('GET', `/v1/checks/${id}/slots?${range}`);
  const slots: { scheduledAt: string; state: string; verdict: string | null }[] = body.entries;
  const newest = slots.find(({ verdict }) => verdict !== null);
  return {
    measuredAt: newest ? Date.parse(newest.scheduledAt) : 0,
    hasFailed: newest?.verdict === 'FAILED',
    isUnjudged: newest?.verdict === 'ERROR',
    isUnderWay: slots.some(({ state }) => state === 'LEASED'),
    blamed: slots.flatMap(({ scheduledAt, verdict }) =>
      verdict === 'FAILED' || verdict === 'DEGRADED' ? [`${scheduledAt} ${verdict}`] : [],
    ),
  };
}

/** A false statement of a surface, with the reason; undefined if it is true. */
function lieOf(
  name: string,
  said: Said | undefined,
  { measuredAt, hasFailed, isUnderWay }: Truth,
  { readAt, known }: { readonly readAt: number; readonly known: Truth | undefined },
): string | undefined {
  const ageMs = readAt - measuredAt;
  const lateMs = silenceMs + slackMs + (keptMs[name] ?? 0);
  if (!hasFailed && (said === 'failing' || said === 'degraded')) return `${said}, and no run said so`;
  if (said === 'failing' && ofIncidents.includes(name)) return undefined;
  const saysMeasured = said === 'passing' || said === 'failing' || said === 'degraded';
  if (ageMs > lateMs && !isUnderWay && saysMeasured) return `${said}, ${ageMs} ms after the last measurement`;
  const isKept = keptMs[name] !== undefined;
  // Results that were stored during the read may be missing.
  const knownMs = readAt - (known?.measuredAt ?? 0);
  if (knownMs < 2 * intervalMs && said === 'not-measured' && !isKept)
    return `not measured, ${knownMs} ms after the last measurement`;
  return undefined;
}

it.each(engines)(
  'agents die, drain, stall, move and return: no surface shows passing for an unmeasured check (%s)',
  { timeout: 900_000 },
  async (engine) => {
    const folder = temporaryFolder();
    folders.push(folder);
    /** Called with the path of each request. */
    let onRequest: (path: string) => void = () => undefined;
    const target = createServer((request, response) => {
      onRequest(request.url ?? '');
      response.writeHead(request.url === '/bad' ? 503 : 200).end();
    });
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    await using _ = { [Symbol.asyncDispose]: async () => void target.close() };
    await using alerts = await startHttpReceiver();
    await using samples = await startHttpReceiver();
    await using mails = await startMailReceiver();
    const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
    const service = await startServiceProcess(
      {
        ...{ DATA_DIR: folder.path, BOOTSTRAP_API_KEY: key, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'info' },
        ...{ SMTP_URL: mails.url, MAIL_FROM: 'picket@example.com', REMOTE_WRITE_URL: samples.url },
        ...{ EGRESS_ALLOW: '127.0.0.1' },
        ...(engine === 'PostgreSQL' ? { DATABASE_URL: await emptyDatabase() } : {}),
      },
      (process) => started.push(process),
    );
    const make: Make = async (path, body) => {
      const answer = await service.call('POST', path, body);
      expect([path, answer.status, answer.body?.message]).toEqual([path, 201, undefined]);
      return answer.body;
    };
    const [here, there] = [
      await make('/v1/private-locations', { name: 'here', slugName: 'here' }),
      await make('/v1/private-locations', { name: 'there', slugName: 'there' }),
    ];
    const hook = { name: 'hook', url: alerts.url, method: 'POST', template: alertTemplate };
    await make('/v1/alert-channels', { type: 'WEBHOOK', config: hook, autoSubscribe: true });
    const address = { address: 'ada@example.com' };
    await make('/v1/alert-channels', { type: 'EMAIL', config: address, autoSubscribe: true });
    const { id: groupId } = await make('/v1/check-groups', { name: 'Team', tags: [] });
    const common = { frequency: 0, frequencyOffset: 10, retryStrategy: null, doubleCheck: false };
    const check = (name: string, privateLocations: string[], more: Record<string, unknown> = {}) =>
      make('/v1/checks/url', {
        ...{ ...common, name, tags: name === 'Birch' ? [name] : [name, 'well'], privateLocations },
        // An agent that is stalled for longer must not count as a slow target.
        ...{ degradedResponseTime: 4_000, maxResponseTime: 5_000, request: { url: `${url}/${name}` } },
        ...more,
      });
    const good = await check('Alder', ['here'], { groupId });
    const bad = await check('Birch', ['here'], { request: { url: `${url}/bad` } });
    const both = await check('Cedar', ['here', 'there'], { runParallel: true });
    const away = await check('Dogwood', ['there'], { groupId });
    // No agent here has a browser, so it is never measured.
    const blank = await make('/v1/checks/browser', {
      ...{
        name: 'Elder',
        tags: ['Elder'],
        privateLocations: ['here'],
        script: 'const { test } = require("@playwright/test");',
      },
      ...{ frequency: 1, retryStrategy: null, doubleCheck: false },
    });
    const checks: { id: string; name: string; tags: string[] }[] = [good, bad, both, away, blank];
    const ids = checks.map(({ id }) => id);
    const names = new Map(checks.map(({ id, name }) => [id, name]));
    await make('/v1/dashboards', { header: 'D', customUrl: 'wall' });
    await makeStatusPage(make, 'parts', checks);
    const well = [good, both, away];
    await makeStatusPage(make, 'well', well);
    const slo = await make('/v1/slos', { name: 'Most', target: 99.9, windowDays: 1, checkId: good.id });
    const surfaces = new StateSurfaces({
      ...{
        service,
        key,
        dashboard: 'wall',
        parts: 'parts',
        well: 'well',
        groupId,
        groupIds: [good.id, away.id],
      },
      ...{ wellIds: well.map(({ id }) => id), slo: { id: slo.id, checkId: good.id } },
      receivers: { alerts, mails, samples },
    });
    await surfaces.login();

    const lies: string[] = [];
    const heard = new Map<string, Set<Said>>();
    /** The facts before surfaces were read. */
    const knownTruths = new Map<string, Truth>();
    const unjudgedSince = new Map<string, number>();
    let reads = 0;
    /** Records false statements of surfaces. */
    const judge = async (what: string, said: Map<string, Map<string, Said>>, readAt: number) => {
      const truths = await Promise.all(ids.map((id) => truthOf(service, id, readAt)));
      for (const [index, { id, name: checkName }] of checks.entries()) {
        const truth = truths[index] as Truth;
        const known = knownTruths.get(id);
        knownTruths.set(id, truth);
        if (id !== bad.id && truth.blamed.length > 0)
          lies.push(`${what}: the target of ${checkName} was blamed: ${truth.blamed}`);
        if (!truth.isUnjudged) unjudgedSince.delete(id);
        else if (!unjudgedSince.has(id)) unjudgedSince.set(id, Date.now());
        for (const [name, byCheck] of said) {
          const one = byCheck.get(id);
          if (one === undefined) continue;
          reads += 1;
          heard.set(name, (heard.get(name) ?? new Set()).add(one));
          const lie = lieOf(name, one, truth, { readAt, known });
          if (lie !== undefined) lies.push(`${what}: ${name} of ${checkName}: ${lie}`);
          const isLong = readAt - (unjudgedSince.get(id) ?? readAt) > slackMs + (keptMs[name] ?? 0);
          if (isLong && one === 'passing' && id !== both.id && !name.includes('objective'))
            lies.push(`${what}: ${name} of ${checkName}: passing, though its run was not judged`);
        }
      }
    };
    /** Reads every surface each second until a condition holds. */
    const watchUntil = async (
      what: string,
      isSo: (said: Map<string, Map<string, Said>>) => Promise<boolean> | boolean,
    ) => {
      for (let look = 0; ; look += 1) {
        const before = Date.now();
        const said = await surfaces.read({ ids, names });
        if (look > 120) {
          const shown = [...said].map(
            ([name, byCheck]) => `${name}: ${[...byCheck].map(([id, one]) => `${names.get(id)} ${one}`)}`,
          );
          throw new Error(
            `not within two minutes: ${what}; ${shown.join('\n')} ${service.process.output().slice(-2000)}`,
          );
        }
        await judge(what, said, before);
        if (await isSo(said)) return said;
        await sleep(Math.max(0, 1_000 - (Date.now() - before)));
      }
    };
    const all = (said: Map<string, Map<string, Said>>, id: string, wanted: readonly (Said | undefined)[]) =>
      [...said].every(([name, byCheck]) => ofSeveral.includes(name) || wanted.includes(byCheck.get(id)));
    const agents = new Map<unknown, RunningAgent>();
    const start = async (location: { keys: { rawKey: string }[] }) => {
      const agent = await startAgentProcess({ serviceUrl: service.url, key: location.keys[0]?.rawKey ?? '' });
      started.push(agent.process);
      agents.set(location, agent);
    };
    const end = async (location: unknown, signal: 'SIGKILL' | 'SIGTERM') => {
      const { code } = (await agents.get(location)?.process.kill(signal)) ?? { code: null };
      agents.delete(location);
      return code;
    };
    const health = async (location: { id: string }) => await surfaces.locationHealth(location.id);

    await start(here);
    await start(there);
    await watchUntil('measured', (said) =>
      checks.every(({ id }) => id === blank.id || all(said, id, [id === bad.id ? 'failing' : 'passing'])),
    );
    expect(await health(there)).toEqual({ api: 'healthy', page: 'passed' });

    expect(await end(there, 'SIGTERM')).toBe(0);
    expect(await health(there)).toEqual({ api: 'no-agent', page: 'missed' });
    await end(here, 'SIGKILL');
    await watchUntil('blind', (said) =>
      checks.every(({ id }) => id === blank.id || all(said, id, ['not-measured', undefined])),
    );
    await watchUntil('empty', async () => (await health(here)).api === 'no-agent');

    // It moves: the agent returns at the other location only.
    await start(there);
    await watchUntil('one of two', (said) => all(said, both.id, ['passing']));
    const { body } = await service.call('GET', `/v1/check-statuses/${both.id}`);
    expect([body.state, body.notMeasuredAt]).toEqual(['passing', ['here']]);
    expect(await surfaces.pageOf(both.id)).toContain('Not measured at here.');
    const { body: alone } = await service.call('GET', `/v1/check-statuses/${good.id}`);
    expect(alone.state).toBe('not-measured');

    const random = randomOf(seed);
    const oneOf = <T>(some: readonly T[]) => some[Math.floor(random() * some.length)] as T;
    /** Stalls the agent while one of its requests is pending. */
    const stall = async (location: unknown) => {
      const agent = agents.get(location);
      await new Promise<void>((resolve) => {
        onRequest = (path) => {
          if (path !== (location === here ? '/Alder' : '/Dogwood')) return;
          onRequest = () => undefined;
          agent?.process.child.kill('SIGSTOP');
          resolve();
        };
      });
      await sleep(7_000);
      agent?.process.child.kill('SIGCONT');
    };
    const setProxy = async (proxyUrl: string | null) => {
      const answer = await service.call('PUT', `/v1/private-locations/${there.id}`, {
        name: 'there',
        proxyUrl,
      });
      expect([answer.status, answer.body?.message]).toEqual([200, undefined]);
    };
    for (let step = 0; step < steps; step += 1) {
      const location = oneOf([here, there]);
      const does = agents.has(location)
        ? oneOf(['dies', 'drains', 'stalls', 'stalls', 'loses its proxy'] as const)
        : 'returns';
      const lengthMs = shortestMs + Math.floor(random() * spreadMs);
      const what = `seed ${seed}, step ${step}: ${location.slugName} ${does}`;
      console.log(`${what}, ${lengthMs} ms`);
      const until = Date.now() + lengthMs;
      const course = async () => {
        if (does === 'returns') await start(location);
        if (does === 'dies') await end(location, 'SIGKILL');
        if (does === 'drains') expect(await end(location, 'SIGTERM')).toBe(0);
        if (does === 'stalls') await stall(location);
        if (does !== 'loses its proxy') return;
        await setProxy('http://127.0.0.1:1');
        await sleep(Math.max(0, until - Date.now()));
        await setProxy(null);
      };
      let isDone = false;
      await Promise.all([
        course().finally(() => {
          isDone = true;
        }),
        watchUntil(what, () => isDone && Date.now() >= until),
      ]);
    }
    for (const location of agents.keys()) await end(location, 'SIGTERM');
    console.log(`seed ${seed}: ${reads} readings, states: ${[...(heard.get('checks') ?? [])].join(', ')}`);
    expect([...new Set(lies)]).toEqual([]);
    // Every surface has shown something. Feeds are silent about healthy checks, and first lines only say that not all
    // is well.
    const quiet = [
      'feed',
      'Atom feed',
      'RSS feed',
      'first line of the overview',
      'first line of the dashboard',
    ];
    const last = await surfaces.read({ ids, names });
    const expected = [...last.keys()].filter((name) => !quiet.includes(name));
    expect(expected.filter((name) => !heard.has(name))).toEqual([]);
    expect(reads).toBeGreaterThan(2_000);
  },
);
