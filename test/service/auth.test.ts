import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allRoutes } from '../../src/protocol/index.ts';
import type { Route } from '../../src/protocol/route.ts';
import { hashKey } from '../../src/service/keys.ts';
import { type Bench, createCheck, createLocation, openBench, type TestLocation } from '../helpers/service.ts';

let bench: Bench;
let location: TestLocation;

beforeAll(async () => {
  bench = await openBench();
  location = await createLocation(bench, 'lab');
});
afterAll(async () => {
  await bench.close();
});

const accountRoutes = allRoutes.filter(({ credential }) => credential === 'account');
const locationRoutes = allRoutes.filter(({ credential }) => credential === 'location');
const named = (routes: readonly Route[]) => routes.map((route) => [route.operationId, route] as const);
/** Calls a route with nothing valid in it, so that whatever judges first is seen. */
const callBadly = (route: Route, key: string | null, headers: Record<string, string> = {}) =>
  bench.call(route.method, route.path.replaceAll(/\{\w+\}/g, 'bad-id'), route.body ? '{broken' : undefined, {
    key,
    headers,
  });

it('has routes of both kinds', () => {
  expect(accountRoutes.length).toBeGreaterThan(15);
  expect(locationRoutes.length).toBeGreaterThanOrEqual(5);
});

describe.each(named(allRoutes))('%s', (_name, route) => {
  it('answers 401 before it looks at anything else', async () => {
    const wrongKind = route.credential === 'account' ? location.key : bench.key;
    for (const key of [null, 'unknown', wrongKind, 'x'.repeat(5000)]) {
      const answer = await callBadly(route, key);
      expect(answer.status).toBe(401);
      expect(answer.body).toMatchObject({ statusCode: 401, error: 'Unauthorized' });
      expect(answer.body.message).toMatch(/^Bad Token/);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
    for (const authorization of ['', 'Bearer', `Basic ${bench.key}`, `Bearer ${bench.key} x`, bench.key]) {
      expect((await callBadly(route, null, { authorization })).status).toBe(401);
    }
  });
});

describe.each(named(accountRoutes))('%s', (_name, route) => {
  const writes = route.method !== 'GET' && !route.isReadOnly;

  it.each([
    ['ADMIN', true],
    ['READ_WRITE', true],
    ['READ_RUN', false],
    ['READ_ONLY', false],
  ] as const)(`lets the role %s in: ${writes ? 'to write %s' : 'to read'}`, async (role, mayWrite) => {
    const answer = await callBadly(route, await bench.addKey(role));
    if (writes && !mayWrite) {
      expect(answer.status).toBe(403);
      expect(answer.body).toMatchObject({ statusCode: 403, error: 'Forbidden' });
      expect(answer.body.message).toContain(role);
    } else expect([200, 400]).toContain(answer.status);
  });

  it('refuses a foreign account with 403 and takes its own', async () => {
    const stranger = await bench.addAccount();
    for (const account of [stranger.accountId, 'nonsense', randomUUID()]) {
      const answer = await callBadly(route, bench.key, { 'x-service-account': account });
      expect([route.operationId, answer.status]).toEqual([route.operationId, 403]);
    }
    const own = await callBadly(route, bench.key, { 'x-service-account': bench.accountId.toUpperCase() });
    expect([200, 400]).toContain(own.status);
  });
});

it("shows nothing of another account's objects", async () => {
  const stranger = await bench.addAccount();
  const check = await createCheck(bench, { privateLocations: ['lab'] });
  const keys = await bench.call('GET', `/v1/private-locations/${location.id}`);
  const asStranger = { key: stranger.key };
  const params: Record<string, string> = {
    checkId: check.id,
    checkResultId: randomUUID(),
    keyId: keys.body.keys[0].id,
  };
  for (const route of accountRoutes.filter((each) => each.params)) {
    const id = route.path.includes('private-locations') ? location.id : check.id;
    const needsQuery = route.query && !route.query.safeParse({}).success;
    const path =
      route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? id) +
      (needsQuery ? '?metrics=availability&from=0&to=0' : '');
    const answer = await bench.call(
      route.method,
      path,
      route.body ? { name: 'taken over' } : undefined,
      asStranger,
    );
    expect([route.operationId, answer.status]).toEqual([route.operationId, 404]);
    expect(JSON.stringify(answer.body)).not.toContain('a monitor');
  }
  for (const list of ['checks', 'private-locations', 'check-statuses']) {
    expect((await bench.call('GET', `/v1/${list}`, undefined, asStranger)).body).toEqual([]);
  }
  const foreignLocation = await bench.call(
    'POST',
    '/v1/checks/url',
    { name: 'x', privateLocations: ['lab'], request: { url: 'http://x.test' } },
    asStranger,
  );
  expect(foreignLocation.status).toBe(400);
  expect((await bench.call('GET', `/v1/checks/${check.id}`)).body).toEqual(check);
});

it('stores keys as hashes only and shows them in full only once', async () => {
  const created = await bench.call('POST', '/v1/private-locations', { name: 'keys', slugName: 'keys' });
  const [key] = created.body.keys;
  expect(key.rawKey).toMatch(/^pl_[0-9a-f]{32}$/);
  expect(key.maskedKey).toBe(`...${key.rawKey.slice(-4)}`);
  const read = await bench.call('GET', `/v1/private-locations/${created.body.id}`);
  expect(read.body.keys).toEqual([{ ...key, rawKey: key.maskedKey }]);
  expect(await bench.store.locations.findByKey(hashKey(key.rawKey))).toMatchObject({ slug_name: 'keys' });
  const [row] = await bench.store.locations.keys([created.body.id]);
  expect(JSON.stringify(row)).not.toContain(key.rawKey);

  const second = await bench.call('POST', `/v1/private-locations/${created.body.id}/keys`);
  expect(second.status).toBe(201);
  expect(second.body.rawKey).toMatch(/^pl_[0-9a-f]{32}$/);
  const third = await bench.call('POST', `/v1/private-locations/${created.body.id}/keys`);
  expect(third.status).toBe(409);
  expect(third.body).toMatchObject({ statusCode: 409, error: 'Conflict' });

  const claim = (raw: string) =>
    bench.call(
      'POST',
      '/v1/agent/claims',
      {
        agentId: 'a',
        sessionId: randomUUID(),
        version: '8.0.0',
        platform: 't',
        checkTypes: [],
        freeSlots: {},
      },
      { key: raw },
    );
  expect((await claim(key.rawKey)).status).toBe(200);
  const gone = await bench.call('DELETE', `/v1/private-locations/${created.body.id}/keys/${key.id}`);
  expect([gone.status, gone.body]).toEqual([204, '']);
  expect((await claim(key.rawKey)).status).toBe(401);
  expect((await claim(second.body.rawKey)).status).toBe(200);
  expect((await bench.call('POST', `/v1/private-locations/${created.body.id}/keys`)).status).toBe(201);
});
