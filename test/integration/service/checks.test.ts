import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { failure } from '../../../src/checks/contract/failure.ts';
import { checkTypes } from '../../../src/checks/index.ts';
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
import type { Samples } from '../conformance/samples/samples.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
  await createLocation(harness, 'lab');
});
afterAll(async () => {
  await harness.close();
});

const url = 'http://target.test/';

describe('masked values', () => {
  const request = {
    url,
    headers: [
      { key: 'x-token', value: 'header-secret', locked: true },
      { key: 'x-token', value: 'header-secret-2', locked: true },
      { key: 'accept', value: 'text/plain', locked: false },
    ],
    queryParameters: [{ key: 'token', value: 'query-secret', locked: true }],
    basicAuth: { username: 'user', password: 'password-secret' },
  };
  const environmentVariables = [{ key: 'KEY', value: 'variable-secret', secret: false, locked: true }];
  // biome-ignore lint/suspicious/noExplicitAny: a definition as it is stored
  const stored = async (id: string): Promise<any> =>
    (await harness.store.checks.find(harness.accountId, id))?.definition;

  it('are never shown, and kept when the response is written back', async () => {
    const made = await harness.call('POST', '/v1/checks/api', {
      name: 'masked',
      environmentVariables,
      request,
    });
    expect(made.status).toBe(201);
    expect(made.body.request).toMatchObject({
      headers: [{ value: '' }, { value: '' }, { value: 'text/plain' }],
      queryParameters: [{ key: 'token', value: '' }],
      basicAuth: { username: 'user', password: '' },
    });
    expect(made.body.environmentVariables).toEqual([{ ...environmentVariables[0], value: '' }]);
    const before = await stored(made.body.id);
    expect(before).toMatchObject({ environmentVariables, request });
    for (const path of [`/v1/checks/${made.body.id}`, `/v1/checks/api/${made.body.id}`]) {
      const back = await harness.call('PUT', path, { ...made.body, name: 'written back' });
      expect(back.status).toBe(200);
      expect(JSON.stringify(back.body)).not.toContain('-secret');
      expect((await stored(made.body.id)).request).toEqual(before.request);
    }
    for (const path of [`/v1/checks/${made.body.id}`, '/v1/checks?limit=100']) {
      expect(JSON.stringify((await harness.call('GET', path)).body)).not.toContain('-secret');
    }
  });

  it.each(['api', 'url'])(
    'hide the password of a login of type %s, and keep it at its origin',
    async (route) => {
      const auth = { type: 'NTLM', username: 'user', password: 'login-secret', domain: 'INTRA' };
      const body = { name: 'login', request: { url: 'http://intra.test/', auth } };
      const made = await harness.call('POST', `/v1/checks/${route}`, body);
      expect(made.body.request.auth).toEqual({ ...auth, password: '' });
      const path = `/v1/checks/${route}/${made.body.id}`;
      const { request: shown } = made.body;
      expect((await harness.call('PUT', path, { name: 'login', request: shown })).status).toBe(200);
      expect((await stored(made.body.id)).request.auth).toEqual(auth);
      const moved = { name: 'login', request: { ...shown, url: 'http://other.test/' } };
      const refused = await harness.call('PUT', path, moved);
      expect([refused.status, refused.body.validation.keys]).toEqual([400, ['request.auth.password']]);
    },
  );

  it('change when they are written, and are lost when they are unlocked', async () => {
    const made = await harness.call('POST', '/v1/checks/api', { name: 'masked', request });
    await harness.call('PUT', `/v1/checks/${made.body.id}`, {
      request: {
        headers: [
          { key: 'x-token', value: '', locked: true },
          { key: 'x-token', value: 'new', locked: true },
          { key: 'other', value: '', locked: true },
        ],
        queryParameters: [{ key: 'token', value: '', locked: false }],
        basicAuth: { username: 'user', password: 'new' },
      },
    });
    expect((await stored(made.body.id)).request).toMatchObject({
      headers: [{ value: 'header-secret' }, { value: 'new' }, { value: '' }],
      queryParameters: [{ value: '' }],
      basicAuth: { password: 'new' },
    });
  });

  it('reach the agent, which must hide them', async () => {
    const clock = new ManualClock();
    const own = await openHarness({ clock });
    const agent = new TestAgent(own, await createLocation(own, 'lab'));
    await own.call('POST', '/v1/checks/api', {
      name: 'masked',
      frequency: 1,
      privateLocations: ['lab'],
      environmentVariables,
      request,
    });
    own.startScheduler();
    const run = await until('a run', async () => {
      clock.advance(2000);
      return (await agent.claim())[0];
    });
    expect(run.check.spec.request).toMatchObject(request);
    expect(run.variables).toEqual({ KEY: 'variable-secret' });
    expect(run.secretNames).toEqual(['KEY']);
    await own.close();
  });
});

describe('the response for a check', () => {
  it('has a complete retry strategy', async () => {
    const strategy = async (retryStrategy: object) => {
      const check = await createCheck(harness, { retryStrategy });
      expect((await harness.call('GET', `/v1/checks/${check.id}`)).body).toEqual(check);
      return check.retryStrategy;
    };
    const base = { baseBackoffSeconds: 60, sameRegion: true };
    expect(await strategy({ onlyOn: 'NETWORK_ERROR' })).toEqual({
      ...base,
      type: 'FIXED',
      maxRetries: 2,
      maxDurationSeconds: 600,
      onlyOn: ['NETWORK_ERROR'],
    });
    expect(await strategy({ type: 'LINEAR', maxRetries: 3, onlyOn: ['NETWORK_ERROR'] })).toMatchObject({
      maxRetries: 3,
      onlyOn: ['NETWORK_ERROR'],
    });
    expect(await strategy({ type: 'SINGLE_RETRY' })).toEqual({ ...base, type: 'SINGLE_RETRY' });
    const refused = await harness.call('POST', '/v1/checks/url', {
      name: 'x',
      request: { url },
      retryStrategy: { type: 'SINGLE_RETRY', maxRetries: 2 },
    });
    expect(refused.body.validation.keys).toEqual(['retryStrategy.maxRetries']);
  });

  it.each([
    ['http://x.test', 201],
    ['HTTPS://x.test/{{PATH}}', 201],
    ['{{BASE_URL}}/health', 201],
    ['{{{BASE_URL}}}', 201],
    ['ftp://x.test', 400],
    ['x.test', 400],
    ['file:///etc/passwd', 400],
    ['x{{BASE_URL}}', 400],
  ])('accepts only a valid URL: %s', async (written, status) => {
    for (const type of ['url', 'api']) {
      const answer = await harness.call('POST', `/v1/checks/${type}`, {
        name: 'x',
        request: { url: written },
      });
      expect(answer.status).toBe(status);
      if (status === 400) expect(answer.body.validation.keys).toEqual(['request.url']);
    }
  });

  it('merges alert settings like the request', async () => {
    const check = await createCheck(harness, {
      alertSettings: { escalationType: 'TIME_BASED', reminders: { amount: 3, interval: 10 } },
    });
    const changed = await harness.call('PUT', `/v1/checks/${check.id}`, {
      alertSettings: { runBasedEscalation: { failedRunThreshold: 4 } },
    });
    expect(changed.body.alertSettings).toEqual({
      ...check.alertSettings,
      runBasedEscalation: { failedRunThreshold: 4 },
    });
  });

  it('keeps the type', async () => {
    const check = await createCheck(harness);
    for (const path of [`/v1/checks/${check.id}`, `/v1/checks/url/${check.id}`]) {
      const refused = await harness.call('PUT', path, { checkType: 'API' });
      expect([refused.status, refused.body.validation.keys]).toEqual([400, ['checkType']]);
      expect((await harness.call('PUT', path, { checkType: 'URL', muted: true })).status).toBe(200);
    }
  });
});

it('treats an empty body as none if the operation has none', async () => {
  const location = await createLocation(harness, 'empty-bodies');
  const check = await createCheck(harness);
  const send = (method: 'POST' | 'DELETE' | 'PUT', path: string) =>
    harness.app.inject({
      method,
      url: path,
      headers: { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' },
    });
  const made = await send('POST', `/v1/private-locations/${location.id}/keys`);
  expect(made.statusCode).toBe(201);
  const keyPath = `/v1/private-locations/${location.id}/keys/${made.json().id}`;
  expect((await send('DELETE', keyPath)).statusCode).toBe(204);
  expect((await send('DELETE', `/v1/checks/${check.id}`)).statusCode).toBe(204);
  for (const path of ['/v1/checks/url', '/v1/checks']) {
    const refused = await send('POST', path);
    expect([refused.statusCode, refused.json().message]).toEqual([400, 'The request needs a JSON body.']);
  }
});

it('lists the six hours before `to` if only that is given', async () => {
  const clock = new ManualClock();
  const own = await openHarness({ clock });
  const agent = new TestAgent(own, await createLocation(own, 'lab'));
  const check = await createCheck(own, { privateLocations: ['lab'], frequency: 1 });
  own.startScheduler();
  const run = await until('a run', async () => {
    clock.advance(2000);
    return (await agent.claim())[0];
  });
  await agent.report([reportOf(run)]);
  const storedAt = clock.wallMs();
  const hourMs = 3_600_000;
  clock.advance(9 * hourMs);
  const count = async (query: string) =>
    (await own.call('GET', `/v1/check-results/${check.id}?${query}`)).body.length;
  expect(await count('')).toBe(0);
  expect(await count(`to=${storedAt + 6 * hourMs}`)).toBe(1);
  expect(await count(`to=${storedAt + 6 * hourMs + 1}`)).toBe(0);
  expect(await count(`to=${storedAt}`)).toBe(0);
  await own.close();
});

it('retries on network errors of the location too', async () => {
  const clock = new ManualClock();
  const own = await openHarness({ clock });
  const agent = new TestAgent(own, await createLocation(own, 'lab'));
  own.startScheduler();
  const retryStrategy = { baseBackoffSeconds: 0, onlyOn: ['NETWORK_ERROR'] };
  await createCheck(own, { privateLocations: ['lab'], frequency: 1, retryStrategy });
  const attempts = async (code: Parameters<typeof failure>[0]) => {
    const run = await until('a run', async () => {
      clock.advance(2000);
      return (await agent.claim())[0];
    });
    await agent.report([reportOf(run, { failure: failure(code, 'no way there') })]);
    const again = (await agent.claim()).find(({ runId }) => runId === run.runId);
    if (again) await agent.report([reportOf(again)]);
    return again === undefined ? 1 : 2;
  };
  for (const code of [
    'RESOLVER_FAILED',
    'NETWORK_UNAVAILABLE',
    'PROXY_FAILED',
    'CONNECTION_RESET',
  ] as const) {
    expect([code, await attempts(code)]).toEqual([code, 2]);
  }
  expect(await attempts('STATUS_UNEXPECTED')).toBe(1);
  await own.close();
});

it('applies the group settings that its type allows, in responses and runs', async () => {
  const settings = { retryStrategy: { type: 'FIXED' }, doubleCheck: true, runParallel: true, muted: true };
  const group = await harness.call('POST', '/v1/check-groups', {
    ...{ name: 'all', privateLocations: ['lab'], runtimeId: '2025.04', tags: ['of the group'], ...settings },
  });
  for (const type of checkTypes) {
    const { samples } = await import(`../conformance/samples/${type.route}.ts`);
    const body = { name: type.name, groupId: group.body.id, ...(samples as Samples).minimal };
    expect((await harness.call('POST', `/v1/checks/${type.route}`, body)).status).toBe(201);
  }
  const { body } = await harness.call('GET', `/v1/check-groups/${group.body.id}/checks?limit=100`);
  expect(body.length).toBe(checkTypes.length);
  for (const check of body) {
    const type = checkTypes.find(({ name }) => name === check.checkType);
    const refused = Object.entries<z.ZodType>(type?.spec.shape ?? {}).filter(
      ([key, field]) => !field.safeParse(check[key]).success,
    );
    expect([check.checkType, refused.map(([key]) => key)]).toEqual([check.checkType, []]);
    const isSuite = check.checkType === 'PLAYWRIGHT';
    expect([check.runParallel, check.doubleCheck, check.tags]).toEqual([true, !isSuite, ['of the group']]);
  }
});
