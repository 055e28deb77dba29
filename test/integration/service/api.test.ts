import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
  await createLocation(harness, 'lab');
});
afterAll(async () => {
  await harness.close();
});

const request = { url: 'http://target.test/' };

describe('creating a check', () => {
  it('fills in the defaults of the specification', async () => {
    const check = await createCheck(harness, { frequency: undefined });
    expect(check).toMatchObject({
      checkType: 'URL',
      activated: true,
      muted: false,
      doubleCheck: true,
      shouldFail: false,
      frequency: 10,
      runParallel: false,
      useGlobalAlertSettings: true,
      degradedResponseTime: 3000,
      maxResponseTime: 5000,
      retryStrategy: null,
      updated_at: null,
      request: { method: 'GET', followRedirects: true, skipSSL: false, ipFamily: 'IPv4', assertions: [] },
      alertChannels: { email: [], webhook: [], slack: [], sms: [] },
    });
    expect(check.frequencyOffset).toBeGreaterThanOrEqual(1);
    expect(check.frequencyOffset).toBeLessThanOrEqual(100);
    expect(check.created_at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect((await harness.call('GET', `/v1/checks/${check.id}`)).body).toEqual(check);
  });

  it('works the same on the generic route', async () => {
    const answer = await harness.call('POST', '/v1/checks', {
      checkType: 'API',
      name: 'generic',
      request: { ...request, method: 'POST', body: '{}', bodyType: 'JSON' },
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      checkType: 'API',
      request: { bodyType: 'JSON' },
      maxResponseTime: 20_000,
    });
    const untyped = await harness.call('POST', '/v1/checks', { name: 'x', request });
    expect(untyped.body.validation).toEqual({ source: 'payload', keys: ['checkType'] });
    const unknown = await harness.call('POST', '/v1/checks', { checkType: 'TELNET', name: 'x', request });
    expect(unknown.body.validation).toEqual({ source: 'payload', keys: ['checkType'] });
  });

  it('accepts the keys that public clients send, without effect, and refuses others', async () => {
    const check = await createCheck(harness, {
      id: randomUUID(),
      createdAt: 'x',
      request: {
        ...request,
        assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200', order: 3, edit: true }],
      },
    });
    expect(check).not.toHaveProperty('createdAt');
    const refused = await harness.call('POST', '/v1/checks/url', {
      name: 'x',
      request: { ...request, extra: 1 },
    });
    expect([refused.status, refused.body.validation.keys]).toEqual([400, ['request.extra']]);
    expect(check.request.assertions).toEqual([
      { source: 'STATUS_CODE', property: '', comparison: 'EQUALS', target: '200', regex: '' },
    ]);
  });

  it('requires private locations that exist', async () => {
    const answer = await harness.call('POST', '/v1/checks/url', {
      name: 'x',
      request,
      privateLocations: ['lab', 'nowhere'],
    });
    expect(answer.status).toBe(400);
    expect(answer.body.validation).toEqual({ source: 'payload', keys: ['privateLocations.1'] });
    expect(answer.body.message).toContain('nowhere');
  });

  it('accepts a check without any location and never schedules it', async () => {
    const check = await createCheck(harness);
    expect((await harness.store.checks.find(harness.accountId, check.id))?.slots.nextSlotAt).toBeNull();
  });
});

describe('changing a check', () => {
  it('merges: absent fields keep their value, request one level deep', async () => {
    const check = await createCheck(harness, { tags: ['a'], request: { ...request, skipSSL: true } });
    const answer = await harness.call('PUT', `/v1/checks/url/${check.id}`, {
      muted: true,
      request: { url: 'http://new.test/' },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      muted: true,
      tags: ['a'],
      request: { url: 'http://new.test/', skipSSL: true },
    });
    expect(answer.body.updated_at).not.toBeNull();
    expect((await harness.call('PUT', `/v1/checks/url/${check.id}`, {})).body).toMatchObject({ muted: true });
  });

  it('chooses a valid offset if only the frequency changes', async () => {
    const check = await createCheck(harness, { frequency: 60, frequencyOffset: 600 });
    const changed = await harness.call('PUT', `/v1/checks/${check.id}`, { frequency: 1 });
    expect(changed.status).toBe(200);
    expect(changed.body.frequencyOffset).toBeLessThanOrEqual(10);
    const kept = await harness.call('PUT', `/v1/checks/${check.id}`, { name: 'other' });
    expect(kept.body.frequencyOffset).toBe(changed.body.frequencyOffset);
    const wrong = await harness.call('PUT', `/v1/checks/${check.id}`, { frequencyOffset: 11 });
    expect(wrong.body.validation.keys).toEqual(['frequencyOffset']);
  });

  it('finds no check of another type on a typed route', async () => {
    const check = await createCheck(harness);
    expect((await harness.call('PUT', `/v1/checks/api/${check.id}`, { muted: true })).status).toBe(404);
    expect((await harness.call('PUT', `/v1/checks/url/${randomUUID()}`, {})).status).toBe(404);
  });

  it('never shows secret values, and keeps them when the response is written back', async () => {
    const variables = [
      { key: 'TOKEN', value: 's3cret-value', secret: true, locked: false },
      { key: 'PLAIN', value: 'shown', secret: false, locked: false },
    ];
    const check = await createCheck(harness, { environmentVariables: variables });
    expect(check.environmentVariables).toEqual([{ ...variables[0], value: '' }, variables[1]]);
    const stored = async () => {
      const row = await harness.store.checks.find(harness.accountId, check.id);
      return row?.definition.environmentVariables;
    };
    const back = await harness.call('PUT', `/v1/checks/url/${check.id}`, check);
    expect(JSON.stringify(back.body)).not.toContain('s3cret');
    expect(await stored()).toEqual(variables);
    await harness.call('PUT', `/v1/checks/${check.id}`, {
      environmentVariables: [{ key: 'TOKEN', value: 'new', secret: true }],
    });
    expect(await stored()).toEqual([{ key: 'TOKEN', value: 'new', secret: true, locked: false }]);
    await harness.call('PUT', `/v1/checks/${check.id}`, {
      environmentVariables: [{ key: 'TOKEN', value: '', secret: false }],
    });
    expect(await stored()).toEqual([{ key: 'TOKEN', value: '', secret: false, locked: false }]);
    expect(JSON.stringify((await harness.call('GET', '/v1/checks?limit=100')).body)).not.toContain('s3cret');
  });

  it('moves the next slot only when the schedule changes', async () => {
    const check = await createCheck(harness, { frequency: 5, privateLocations: ['lab'] });
    const next = async () => (await harness.store.checks.find(harness.accountId, check.id))?.slots.nextSlotAt;
    const first = await next();
    await harness.call('PUT', `/v1/checks/${check.id}`, { name: 'renamed', muted: true });
    expect(await next()).toBe(first);
    await harness.call('PUT', `/v1/checks/${check.id}`, { frequency: 60, frequencyOffset: 300 });
    expect(await next()).not.toBe(first);
    await harness.call('PUT', `/v1/checks/${check.id}`, { privateLocations: [] });
    expect(await next()).toBeNull();
  });
});

it('deletes a check with its results', async () => {
  const check = await createCheck(harness);
  const gone = await harness.call('DELETE', `/v1/checks/${check.id}`);
  expect([gone.status, gone.body]).toEqual([204, '']);
  for (const [method, path] of [
    ['GET', `/v1/checks/${check.id}`],
    ['DELETE', `/v1/checks/${check.id}`],
    ['GET', `/v1/check-results/${check.id}`],
    ['GET', `/v1/check-statuses/${check.id}`],
  ] as const) {
    expect((await harness.call(method, path)).status).toBe(404);
  }
});

describe('private locations', () => {
  it('keep their slug, change the rest, and are deleted only when unused', async () => {
    const made = await harness.call('POST', '/v1/private-locations', {
      name: 'One',
      slugName: 'one',
      proxyUrl: 'http://u:p@proxy:3128',
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      icon: 'location',
      agentCount: 0,
      lastSeen: null,
      minAgentVersion: null,
      runningAgents: [],
    });
    expect(
      (await harness.call('POST', '/v1/private-locations', { name: 'Two', slugName: 'one' })).status,
    ).toBe(409);
    const path = `/v1/private-locations/${made.body.id}`;
    const moved = await harness.call('PUT', path, { name: 'Uno', slugName: 'uno' });
    expect([moved.status, moved.body.validation.keys]).toEqual([400, ['slugName']]);
    expect(moved.body.message).toContain('cannot change');
    const changed = await harness.call('PUT', path, { name: 'Uno', slugName: 'one', proxyUrl: null });
    expect(changed.body).toMatchObject({ name: 'Uno', slugName: 'one', proxyUrl: null, icon: 'location' });
    const check = await createCheck(harness, { name: 'in the way', privateLocations: ['one'] });
    const refused = await harness.call('DELETE', path);
    expect(refused.status).toBe(409);
    expect(refused.body.message).toContain('in the way');
    await harness.call('PUT', `/v1/checks/${check.id}`, { privateLocations: null });
    expect((await harness.call('DELETE', path)).status).toBe(204);
    expect((await harness.call('GET', path)).status).toBe(404);
  });

  it('show the agents that were seen in the last two minutes, by version', async () => {
    const clock = new ManualClock();
    const own = await openHarness({ clock });
    const location = await createLocation(own, 'fleet');
    const view = async () => (await own.call('GET', `/v1/private-locations/${location.id}`)).body;
    const agents = ['7.2.0', '10.1.0', '9.0.0', '9.0.0'].map((version, index) => ({
      version,
      agent: new TestAgent(own, location, `agent-${index}`),
    }));
    for (const { version, agent } of agents) await agent.claim({ version });
    expect(await view()).toMatchObject({
      agentCount: 4,
      minAgentVersion: '7.2.0',
      lastSeen: new Date(clock.wallMs()).toISOString(),
      runningAgents: [
        { version: '7.2.0', isOutdated: true, count: 1 },
        { version: '9.0.0', isOutdated: false, count: 2 },
        { version: '10.1.0', isOutdated: false, count: 1 },
      ],
    });
    const listed = async (query = '') => (await own.call('GET', `/v1/private-locations${query}`)).body;
    expect(await listed('?versions=true')).toEqual([await view()]);
    const { minAgentVersion: _lowest, runningAgents: _agents, ...without } = await view();
    expect(await listed()).toEqual([without]);
    clock.advance(119_000);
    // The agent with version 7 returned with version 8; a renewal counts as contact.
    await new TestAgent(own, location, 'agent-0').claim({ version: '8.0.0' });
    await agents[1]?.agent.renew([]);
    clock.advance(2_000);
    expect((await view()).runningAgents.map(({ version }: { version: string }) => version)).toEqual([
      '8.0.0',
      '10.1.0',
    ]);
    clock.advance(120_000);
    const alone = await view();
    expect(alone).toMatchObject({ agentCount: 0, minAgentVersion: null, runningAgents: [] });
    expect(alone.lastSeen).not.toBeNull();
    await own.close();
  });
});

describe('results', () => {
  it('are listed by window, location, kind and page', async () => {
    const clock = new ManualClock();
    const own = await openHarness({ clock });
    own.startScheduler();
    const location = await createLocation(own, 'lab');
    const agent = new TestAgent(own, location);
    const check = await createCheck(own, { privateLocations: ['lab'], doubleCheck: false });
    const storedAt: number[] = [];
    for (let index = 0; index < 3; index += 1) {
      clock.advance(60_000);
      const run = await until('a run', async () => {
        const [taken] = await agent.claim();
        if (!taken) clock.advance(20);
        return taken;
      });
      const isBad = index === 1;
      await agent.report([
        reportOf(
          run,
          isBad ? { failure: failure('STATUS_UNEXPECTED', 'got 500') } : { responseTimeMs: 50 + index },
        ),
      ]);
      storedAt.push(clock.wallMs());
      clock.advance(2 * 3_600_000);
    }
    const list = async (query: string) =>
      (await own.call('GET', `/v1/check-results/${check.id}?${query}`)).body;
    const [first = 0, second = 0, third = 0] = storedAt;
    // By default the last six hours: the first result is just too old.
    expect(await list('')).toHaveLength(2);
    expect(await list(`from=${first}`)).toHaveLength(3);
    expect(await list(`from=${first}&to=${third}`)).toHaveLength(2);
    expect(await list(`from=${first}&to=${third + 1}`)).toHaveLength(3);
    expect(await list(`from=${first + 1}&to=${third + 1}`)).toHaveLength(2);
    expect(await list(`from=${Math.floor(first / 1000)}`)).toHaveLength(3);
    expect(await list(`from=${new Date(first).toISOString()}`)).toHaveLength(3);
    const failed = await list(`from=${first}&hasFailures=true`);
    expect(failed).toHaveLength(1);
    expect(failed[0]).toMatchObject({
      hasFailures: true,
      hasErrors: false,
      created_at: new Date(second).toISOString(),
      failure: { owner: 'target', code: 'STATUS_UNEXPECTED', message: 'got 500' },
    });
    expect(await list(`from=${first}&hasFailures=0`)).toHaveLength(2);
    expect(await list(`from=${first}&location=lab`)).toHaveLength(3);
    expect(await list(`from=${first}&location=eu-west-1`)).toEqual([]);
    expect(await list(`from=${first}&checkType=URL`)).toHaveLength(3);
    expect(await list(`from=${first}&checkType=API`)).toEqual([]);
    expect(await list(`from=${first}&resultType=ATTEMPT`)).toEqual([]);
    const paged = await own.call('GET', `/v1/check-results/${check.id}?from=${first}&limit=1&page=2`);
    expect(paged.body[0].created_at).toBe(new Date(second).toISOString());
    expect(paged.headers['content-range']).toBe('1-1/3');
    expect(paged.headers.link).toContain('page=3>; rel="next"');
    const beyond = await own.call('GET', `/v1/check-results/${check.id}?from=${first}&page=9`);
    expect([beyond.status, beyond.body, beyond.headers['content-range']]).toEqual([200, [], '*/3']);
    const one = await own.call('GET', `/v1/check-results/${check.id}/${failed[0].id}`);
    expect(one.body).toEqual(failed[0]);
    const elsewhere = await createCheck(own);
    expect((await own.call('GET', `/v1/check-results/${elsewhere.id}/${failed[0].id}`)).status).toBe(404);
    const status = await own.call('GET', `/v1/check-statuses/${check.id}`);
    expect(status.body).toMatchObject({ hasFailures: false, longestRun: 100, shortestRun: 50 });
    const unrun = await own.call('GET', `/v1/check-statuses/${elsewhere.id}`);
    expect(unrun.body).toMatchObject({ lastCheckRunId: null, warnings: [{ code: 'NO_LOCATION' }] });
    expect((await own.call('GET', '/v1/check-statuses')).body).toEqual([status.body]);
    expect((await own.call('GET', '/v1/check-statuses?neverRun=true')).body).toEqual([
      status.body,
      unrun.body,
    ]);
    // No agent measures it any longer: it passed last, but is not passing.
    expect((await own.call('GET', '/v1/checks?status=passing')).body).toEqual([]);
    expect((await own.call('GET', '/v1/checks?state=not-measured')).body).toHaveLength(1);
    expect((await own.call('GET', '/v1/checks?status=failing')).body).toEqual([]);
    await own.close();
  });
});

describe('every answer', () => {
  it('has a request id, and errors have their shape', async () => {
    const missing = await harness.call('GET', '/v1/nothing/here', undefined, { key: null });
    expect(missing.status).toBe(404);
    expect(missing.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(missing.body).toEqual({ statusCode: 404, error: 'Not Found', message: expect.any(String) });
    for (const [method, path, allow] of [
      ['PATCH', '/v1/checks', 'GET, POST, HEAD'],
      ['DELETE', '/v1/agent/claims', 'POST'],
      ['POST', `/v1/check-statuses/${randomUUID()}`, 'GET, HEAD'],
    ] as const) {
      const answer = await harness.call(method, path);
      expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
      expect(answer.body).toMatchObject({ statusCode: 405, error: 'Method Not Allowed' });
    }
    const badUrl = await harness.call('GET', '/v1/checks/%zz');
    expect(badUrl.status).toBe(400);
    expect(badUrl.body).toMatchObject({ statusCode: 400, error: 'Bad Request' });
  });

  it('hides internal errors', async () => {
    const own = await openHarness();
    onTestFinished(() => own.close());
    await own.store.close();
    const answer = await own.call('GET', '/v1/checks');
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(Object.keys(answer.body).sort()).toEqual(['error', 'message', 'statusCode']);
    expect(JSON.stringify(answer.body)).not.toMatch(/sqlite|driver|select|destroyed/i);
  });

  it('answers health probes without a key', async () => {
    for (const path of ['/-/liveness', '/-/readiness', '/v1/openapi.json']) {
      expect((await harness.call('GET', path, undefined, { key: null })).status).toBe(200);
    }
  });
});
