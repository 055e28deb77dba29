import { failure } from '../../../../src/checks/contract/failure.ts';
import { checkTypes } from '../../../../src/checks/index.ts';
import { defaultRuntimeId } from '../../../../src/checks/tables/runtimes.ts';
import { resources } from '../../../../src/service/resources/index.ts';
import { sampleOf } from '../../../integration/conformance/resource-samples/resource-sample.ts';
import type { SampleBody, Samples } from '../../../integration/conformance/samples/samples.ts';
import { createAuthority } from '../../targets/certificates.ts';
import { addMember, memberLoggedIn } from '../members.ts';
import { minimalOf } from '../minimal-value.ts';
import { createLocation, reportOf, type ServiceHarness, TestAgent, type TestLocation } from '../service.ts';
import { KnownObjects } from './known-objects.ts';

/** An account with at least one object of every kind. */
export interface InhabitedAccount {
  readonly harness: ServiceHarness;
  readonly known: KnownObjects;
  /** Valid bodies, by method and path of their route, for routes whose smallest body by the schema is invalid. */
  readonly bodies: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly location: TestLocation;
  /** A certificate with its key, for bodies that need a real one. */
  readonly certificate: { readonly cert: string; readonly key: string };
}

const update = { status: 'INVESTIGATING', description: 'x' };

const errorEvent = {
  event_id: 'a'.repeat(32),
  timestamp: 1,
  platform: 'node',
  level: 'error',
  release: '1',
  contexts: { os: { name: 'linux' }, runtime: { name: 'node', version: '24' } },
  exception: { values: [{ type: 'Error', value: 'x', stacktrace: { frames: [] } }] },
};

/**
 * Fills the harness's account through the API.
 *
 * @param place the location `lab`, if it exists already.
 * @param host the host of its members' addresses, unique to the account.
 */
export async function inhabit(
  harness: ServiceHarness,
  place?: TestLocation,
  host = 'example.com',
): Promise<InhabitedAccount> {
  const known = new KnownObjects();
  const location = place ?? (await createLocation(harness, 'lab'));
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await harness.call(method, `/v1/${path}`, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const make = (path: string, body?: unknown) => send('POST', path, body);

  // Not the location of the agent: this one may be deleted.
  const spare = await createLocation(harness, 'spare');
  const { keys } = await send('GET', `private-locations/${spare.id}`);
  known.add('/v1/private-locations/{}', [spare.id]);
  known.add('/v1/private-locations/{}/keys/{}', [spare.id, keys[0].id]);

  const bodies = new Map<string, Readonly<Record<string, unknown>>>();
  for (const type of checkTypes) {
    const { samples } = (await import(`../../../integration/conformance/samples/${type.route}.ts`)) as {
      samples: Samples;
    };
    const body = { name: type.name, ...samples.minimal };
    const check = await make(`checks/${type.route}`, body);
    const runPath = 'POST /v1/test-sessions/run';
    if (!bodies.has(runPath)) {
      const runLocation = { type: 'PRIVATE', slugName: 'lab' };
      const job = { ...body, checkType: type.name, logicalId: 'job' };
      bodies.set(runPath, { name: 't', runLocation, checkRunJobs: [job] });
    }
    bodies.set(`POST /v1/checks/${type.route}`, body);
    bodies.set(
      `PUT /v1/checks/${type.route}/{id}`,
      type.requiredOnUpdate ? { ...body, script: 'x', heartbeat: {} } : {},
    );
    bodies.set('POST /v1/checks', { ...body, checkType: type.name });
    known.add(`/v1/checks/${type.route}/{}`, [check.id]);
    known.add('/v1/checks/{}', [check.id]);
  }
  bodies.set('POST /api/{project}/envelope/', errorEvent);

  const heartbeatId = known.idOf('/v1/checks/heartbeat/{}', 0) ?? '';
  const { heartbeat } = await send('GET', `checks/${heartbeatId}`);
  const token = heartbeat.pingUrl.split('/').at(-1);
  known.add('/v1/ping/{}', [token]);
  known.add('/v1/ping/{}/{}', [token, 'start']);
  await make(`ping/${token}`);
  const [page] = await send('GET', `checks/heartbeats/${heartbeatId}/events`);
  known.add('/v1/checks/heartbeat/{}/events/{}', [heartbeatId, page.events[0].id]);
  known.add('/v1/runtimes/{}', ['2026.04']);
  known.add('/v1/accounts/{}', [harness.accountId]);
  known.add('/next/accounts/{}', [harness.accountId]);

  await make(`triggers/checks/${known.idOf('/v1/checks/{}', 0)}`);
  const group = await make('check-groups', { name: 'group' });
  known.add('/v1/check-groups/{}', [String(group.id)]);
  const failing = await make('checks/url', {
    name: 'failing',
    groupId: group.id,
    doubleCheck: false,
    privateLocations: ['lab'],
    request: { url: 'http://target.test/' },
  });
  known.add('/v1/check-groups/{}/checks/{}', [String(group.id), failing.id]);
  known.add('/v1/checks/url/{}', [failing.id]);

  await make(`triggers/check-groups/${group.id}`);
  await makeResources(make, known, bodies);
  const certificate = await (await createAuthority()).issue();
  const windowId = known.idOf('/v1/maintenance-windows/{}', 0) ?? '';
  const maintenances = await send('GET', `maintenance-windows/${windowId}/maintenances`);
  const [maintenance] = Array.isArray(maintenances) ? maintenances : maintenances.entries;
  if (maintenance) {
    const at = [windowId, String(maintenance.id)];
    known.add('/v1/maintenance-windows/{}/maintenances/{}', at);
    const told = await make(`maintenance-windows/${windowId}/maintenances/${maintenance.id}/updates`, {
      description: 'x',
    });
    known.add('/v1/maintenance-windows/{}/maintenances/{}/updates/{}', [...at, told.id]);
  }
  const channel = await make('alert-channels', { type: 'EMAIL', config: { address: 'a@example.com' } });
  known.add('/v1/alert-channels/{}', [String(channel.id)]);

  const silent = { tags: ['silent'], minutes: 5 };
  known.add('/v1/silences/{}', [(await make('silences', silent)).id]);
  bodies.set('POST /v1/silences', silent);

  known.add('/v1/api-keys/{}', [(await make('api-keys', { name: 'ci' })).id]);
  // Two admins, so that one remains.
  await addMember(harness, `ada@${host}`, 'ADMIN');
  known.add('/v1/accounts/me/members/{}', [await addMember(harness, `bob@${host}`, 'ADMIN')]);
  await memberLoggedIn(harness, `ada@${host}`);
  const invited = await make('accounts/me/invites', { email: `eve@${host}`, role: 'READ_ONLY' });
  known.add('/v1/accounts/me/invites/{}', [invited.id]);
  const [session] = await send('GET', 'accounts/me/sessions');
  known.add('/v1/accounts/me/sessions/{}', [session.id]);

  const deployment = await make('projects/deploy', {
    project: { logicalId: 'shop', name: 'shop' },
    resources: [],
  });
  known.add('/v1/projects/{}/deployments/{}', ['shop', deployment.id]);
  const empty = await harness.call('POST', '/next/projects', { logicalId: 'empty', name: 'empty' });
  known.add('/v1/projects/{}', [empty.body.logicalId]);
  known.add('/next/projects/{}', [empty.body.logicalId]);
  for (const logicalId of ['applied', 'planned']) {
    await harness.call('POST', '/next/projects', { logicalId, name: logicalId });
    const filters = [{ type: 'include', resource: { type: 'check' } }];
    const { body: plan } = await harness.call('POST', `/next/projects/${logicalId}/imports`, { filters });
    known.add('/next/projects/imports/{}', [plan.id]);
  }
  bodies.set('POST /next/test-sessions/trigger', { runLocation: { type: 'PRIVATE', slugName: 'lab' } });

  await fillPages(make, send, known);
  await fillSessions(harness, { make, known, location, failingId: failing.id });
  return { harness, known, bodies, location, certificate };
}

type Make = (path: string, body?: unknown) => Promise<Answer>;
type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;
// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
type Answer = any;

/** Creates one of each plain resource, from the samples of the conformance suite. */
async function makeResources(
  make: Make,
  known: KnownObjects,
  bodies: Map<string, SampleBody>,
): Promise<void> {
  for (const [name, { api }] of Object.entries(resources)) {
    const sample = await sampleOf(name, api);
    const { path } = api.routes.list;
    const made = await make(path.replace('/v1/', ''), sample.bodies[0]);
    known.add(`${path}/{}`, [String(made[api.keyName])]);
    const isSmallestRight = api.input.safeParse(minimalOf(api.input)).success;
    if (!isSmallestRight) bodies.set(`POST ${path}`, sample.bodies[0]);
  }
}

async function fillPages(make: Make, send: Send, known: KnownObjects): Promise<void> {
  const dashboard = await make('dashboards', { header: 'd', customUrl: 'known-dashboard' });
  known.add('/v1/dashboards/{}', [dashboard.dashboardId]);
  known.add('/v1/public/dashboards/{}', ['known-dashboard']);
  const legacy = await make('incidents', {
    name: 'i',
    impact: 'MAJOR',
    dashboardId: dashboard.dashboardId,
    startedAt: '2026-01-01T00:00:00Z',
    incidentUpdates: [update],
  });
  known.add('/v1/incidents/{}', [legacy.id]);
  known.add('/v1/incidents/{}/updates/{}', [legacy.id, legacy.incidentUpdates[0].id]);
  const service = await make('status-pages/services', { name: 's' });
  known.add('/v1/status-pages/services/{}', [service.id]);
  const page = await make('status-pages', { name: 'p', url: 'known-page', cards: [] });
  known.add('/v1/status-pages/{}', [page.id]);
  const statusPageId = (await make('status-pages', { name: 'c', url: 'known-components', version: 3 })).id;
  known.add('/v1/status-pages/{}', [statusPageId]);
  const component = await make('status-pages/components', { statusPageId, name: 'c' });
  known.add('/v1/status-pages/components/{}', [component.id]);
  const rule = await make('status-pages/automation-rules', {
    ...{ statusPageId, name: 'r', tags: ['t'], firstUpdate: 'a', lastUpdate: 'b' },
    components: [{ componentId: component.id, targetImpact: 'MAJOR_OUTAGE' }],
  });
  known.add('/v1/status-pages/automation-rules/{}', [rule.id]);
  known.add('/v1/public/status-pages/{}', ['known-page']);
  known.add('/v1/badges/status-pages/{}', ['known-page']);
  const incident = await make('status-pages/incidents', {
    name: 'i',
    severity: 'MINOR',
    services: [{ id: service.id }],
    incidentUpdates: [update],
  });
  known.add('/v1/status-pages/incidents/{}', [incident.id]);
  known.add('/v1/status-pages/incidents/{}/incident-updates/{}', [
    incident.id,
    incident.incidentUpdates[0].id,
  ]);
  const subscriptions = `status-pages/${page.id}/subscriptions`;
  await make(`${subscriptions}/bulk`, {
    subscriptions: [{ type: 'EMAIL', config: { address: 'a@example.com' } }],
  });
  const { entries } = await send('GET', subscriptions);
  known.add('/v1/status-pages/{}/subscriptions/{}', [page.id, entries[0].id]);
}

/** The claim of an agent that can run everything but has no free slots. */
const everything = {
  checkTypes: checkTypes.map(({ name }) => name),
  runtimes: [defaultRuntimeId],
  freeSlots: { probe: 0, script: 0 },
};

/** Runs of sessions: an agent leases them and reports failures. */
async function fillSessions(
  harness: ServiceHarness,
  parts: { make: Make; known: KnownObjects; location: TestLocation; failingId: string },
): Promise<void> {
  const { make, known, location, failingId } = parts;
  const agent = new TestAgent(harness, location);
  await agent.claim(everything);
  const {
    sessions: [session],
  } = await make('check-sessions/trigger', { target: { checkId: failingId } });
  known.add('/v1/check-sessions/{}', [session.checkSessionId]);
  const test = await make('test-sessions/trigger', {
    name: 't',
    projectId: 'project',
    runLocation: 'lab',
    target: { checkId: failingId },
  });
  known.add('/v1/test-sessions/{}', [test.testSessionId]);
  known.add('/v1/test-sessions/scheduling/{}', [test.testSessionId]);
  known.add('/next/test-sessions/{}', [test.testSessionId]);
  known.add('/v1/test-session-error-groups/projects/{}', ['project']);
  const refused = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 10.0.0.5:80');
  for (const run of await agent.claim()) {
    const more = { failure: refused, errorMessages: [refused.message] };
    await agent.report([reportOf(run, more)]);
    if (run.isTestSession) {
      for (const version of ['v1', 'next'])
        known.add(`/${version}/test-sessions/{}/results/{}`, [test.testSessionId, run.resultId]);
      for (const kind of ['log', 'check-run-data'])
        known.add(`/next/assets/${kind}/{}/{}`, ['private', run.resultId]);
    } else known.add('/v1/check-results/{}/{}', [run.check.id, run.resultId]);
  }
  await agent.claim(everything);
  const list = async (path: string) => (await harness.call('GET', path)).body;
  for (const kind of ['error-groups', 'test-session-error-groups']) {
    const [group] = await list(`/v1/${kind}`);
    if (group) known.add(`/v1/${kind}/{}`, [group.id]);
  }
}
