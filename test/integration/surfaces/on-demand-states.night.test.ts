import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Failure, failure } from '../../../src/checks/contract/failure.ts';
import { isMeasured } from '../../../src/protocol/checks/check-state.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  type HttpReceiver,
  type MailReceiver,
  startHttpReceiver,
  startMailReceiver,
} from '../../helpers/service/alert-receivers.ts';
import {
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';
import { StateSurfaces } from '../../helpers/service/state-surfaces.ts';
import type { Said } from '../../helpers/surfaces/said.ts';

// A check that was only run on demand, never by a schedule, has the same state on every surface.
const hourMs = 3_600_000;
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
const ids = new Map<string, string>();
let harness: ServiceHarness;
let agent: TestAgent;
let surfaces: StateSurfaces;
let receivers: { alerts: HttpReceiver; samples: HttpReceiver; mails: MailReceiver };

beforeAll(async () => {
  harness = await openHarness({ clock });
  agent = new TestAgent(harness, await createLocation(harness, 'lab'));
  const url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  const make = async (path: string, body: object) => {
    const answer = await harness.call('POST', path, body);
    expect([path, answer.status, answer.body?.message]).toEqual([path, 201, undefined]);
    return answer.body;
  };
  const { id: groupId } = await make('/v1/check-groups', { name: 'Team', tags: [] });
  const common = { frequency: 1_440, retryStrategy: null, doubleCheck: false, tags: ['well'] };
  for (const [name, fields] of Object.entries({
    fails: { privateLocations: ['lab'] },
    'is slow': { privateLocations: ['lab'] },
    passes: { privateLocations: ['lab'] },
    'is not judged': { privateLocations: ['lab'] },
    'never ran': { privateLocations: ['lab'], groupId },
    'has no location': { privateLocations: [] },
    'is off': { privateLocations: ['lab'] },
  })) {
    const request = { url: 'http://shop.test' };
    const check = await make('/v1/checks/url', { ...common, name, request, ...fields });
    ids.set(name, check.id);
  }
  await make('/v1/dashboards', { header: 'D', customUrl: 'wall' });
  for (const page of ['parts', 'well']) {
    const { id: statusPageId } = await make('/v1/status-pages', { name: page, url: page, version: 3 });
    for (const id of ids.values()) await make('/v1/status-pages/components', { statusPageId, name: id });
  }
  const checkId = ids.get('passes') ?? '';
  const slo = await make('/v1/slos', { name: 'Most', target: 99.9, windowDays: 1, checkId });
  receivers = {
    alerts: await startHttpReceiver(),
    samples: await startHttpReceiver(),
    mails: await startMailReceiver(),
  };
  surfaces = new StateSurfaces({
    ...{ service: { url, call: harness.call } as never, key: harness.key, receivers },
    ...{ dashboard: 'wall', parts: 'parts', well: 'well', wellIds: [], groupId, groupIds: [] },
    slo: { id: slo.id, checkId },
  });
  await surfaces.login();
}, 120_000);
afterAll(async () => {
  await harness.close();
  for (const receiver of Object.values(receivers)) await receiver[Symbol.asyncDispose]();
});

async function runOnDemand(name: string, failed: Failure | null, isDegraded = false): Promise<void> {
  const checkId = ids.get(name);
  // Its agent was seen recently, so that on-demand runs are possible.
  await agent.claim();
  const asked = await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: [checkId] } });
  expect([name, asked.status]).toEqual([name, 201]);
  // A claim may skip a run that the scheduler has locked at that moment.
  const run = await until('the run is leased', async () => {
    clock.advance(1_000);
    return (await agent.claim()).find(({ check }) => check.id === checkId);
  });
  expect(await agent.report([reportOf(run, { failure: failed, isDegraded })])).toEqual(['accepted']);
}

/** Surfaces about some checks only, about several together, or about incidents. Parts without checks have no state. */
const others = new Set([
  ...['first line of the dashboard', 'first line of the status page', 'first line of the overview'],
  ...['badge of the group', 'badge of the status page', 'overview of what passes', 'objective'],
  ...['page of the objective', 'picket status, as printed', 'remote write', 'webhook', 'mail', 'feed'],
  ...['Atom feed', 'RSS feed', 'status page', 'status page in the browser'],
]);
/** Surfaces that list only failing or degraded checks. */
const ofAlerts = new Set(['picket alerts', 'picket causes', 'list_open_alerts', 'alerts page']);
/** Surfaces that omit checks that never ran. */
const ofStatuses = new Set([
  'check-statuses',
  'check-statuses, one',
  'list_check_statuses',
  'get_check_status',
]);

/** The states of a check on surfaces that differ from the actual one. */
async function disagreements(name: string, state: Said & string): Promise<string[]> {
  const id = ids.get(name) ?? '';
  const said = await surfaces.read({
    ids: [...ids.values()],
    names: new Map([...ids].map(([one, key]) => [key, one])),
  });
  const up = !isMeasured(state) ? undefined : state === 'failing' ? 'failing' : 'passing';
  const isOpen = state === 'failing' || state === 'degraded';
  return [...said].flatMap(([surface, byCheck]) => {
    if (others.has(surface)) return [];
    const one = byCheck.get(id);
    // Dashboards omit deactivated checks, and badges call them inactive.
    if (state === 'paused' && /^(dashboard|badge)/.test(surface)) return [];
    const isCounted = surface === 'picket_check_up' || surface === 'probe_success';
    const wanted = isCounted ? up : ofAlerts.has(surface) ? (isOpen ? 'failing' : undefined) : state;
    // An alert stays open until the check passes.
    const isKept = ofAlerts.has(surface) && state === 'not-measured';
    const isMissing = isKept || (one === undefined && ofStatuses.has(surface));
    return one === wanted || isMissing ? [] : [`${surface} says ${one} of what ${name}, not ${wanted}`];
  });
}

async function stand(states: Readonly<Record<string, Said & string>>): Promise<void> {
  // Responses are cached for some seconds, and alerts are decided a moment later.
  clock.advance(16_000);
  for (const [name, state] of Object.entries(states)) {
    await expect.poll(async () => await disagreements(name, state)).toEqual([]);
  }
}

it('is pending everywhere before the request', async () => {
  harness.startAlerting();
  await stand(Object.fromEntries([...ids.keys()].map((name) => [name, 'pending'])));
});

it('has the state of the on-demand run everywhere', async () => {
  await runOnDemand('fails', failure('STATUS_UNEXPECTED', 'Unexpected status 503'));
  await runOnDemand('is slow', null, true);
  await runOnDemand('passes', null);
  await runOnDemand('is not judged', failure('RESOLVER_FAILED', 'queryA ESERVFAIL shop.test'));
  await runOnDemand('is off', failure('STATUS_UNEXPECTED', 'Unexpected status 503'));
  const { body } = await harness.call('GET', `/v1/checks/${ids.get('is off')}`);
  const changed = await harness.call('PUT', `/v1/checks/url/${ids.get('is off')}`, {
    ...body,
    activated: false,
  });
  expect(changed.status).toBe(200);
  await stand({
    ...{ fails: 'failing', 'is slow': 'degraded', passes: 'passing', 'is not judged': 'not-judged' },
    ...{ 'never ran': 'pending', 'has no location': 'pending', 'is off': 'paused' },
  });
});

it('is not measured everywhere if nothing ran for two intervals', async () => {
  clock.advance(49 * hourMs);
  await stand({
    ...{ 'is slow': 'not-measured', passes: 'not-measured', 'is not judged': 'not-measured' },
    ...{ 'never ran': 'not-measured', 'has no location': 'not-measured', 'is off': 'paused' },
  });
});
