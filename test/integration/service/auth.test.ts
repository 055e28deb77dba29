import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { hashKey } from '../../../src/platform/ids/keys.ts';
import type { Route } from '../../../src/protocol/http/route.ts';
import { allRoutes } from '../../../src/server/features.ts';
import { addKey, deleteKey } from '../../../src/service/accounts/accounts.ts';
import { minimalBody, minimalQuery } from '../../helpers/service/minimal-value.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
  temporaryFolder,
} from '../../helpers/service/service.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const folder = temporaryFolder();
let harness: ServiceHarness;
let location: TestLocation;

beforeAll(async () => {
  harness = await openHarness({ folder: folder.path });
  location = await createLocation(harness, 'lab');
});
afterAll(async () => {
  await harness.close();
  folder.remove();
});

const accountRoutes = allRoutes.filter(({ credential }) => credential === 'account');
const locationRoutes = allRoutes.filter(({ credential }) => credential === 'location');
const optionalRoutes = allRoutes.filter(({ credential }) => credential === 'optional');
const openRoutes = allRoutes.filter(({ credential }) => credential === 'none');
const named = (routes: readonly Route[]) => routes.map((route) => [route.operationId, route] as const);
/** Calls a route with only invalid values, to see which check fails first. */
const callBadly = (route: Route, key: string | null, headers: Record<string, string> = {}) =>
  harness.call(
    route.method,
    route.path.replaceAll(/\{\w+\}/g, 'bad-id'),
    route.body ? '{broken' : undefined,
    {
      key,
      headers,
    },
  );

/** Statuses of an invalid call after authorization; text keys accept any text, and are not found. */
function judged({ method, params, otherErrors }: Route): number[] {
  // Objects that do not exist here yield 404, whatever the request.
  if (method === 'GET' && otherErrors?.includes(404)) return [404];
  const isAnyText = Object.values(params?.shape ?? {}).some((name) => z.safeParse(name, 'bad-id').success);
  return isAnyText ? [200, 400, 404] : [200, 400];
}

it('has routes of both kinds', () => {
  expect(accountRoutes.length).toBeGreaterThan(15);
  expect(locationRoutes.length).toBeGreaterThanOrEqual(5);
  const others = allRoutes.length - accountRoutes.length - locationRoutes.length;
  expect(optionalRoutes.length + openRoutes.length).toBe(others);
});

/** Keys that were valid until they, or their accounts, were deleted: keys of accounts and of locations. */
const revoked = { account: '', location: '', removedAccount: '', removedLocation: '' };
beforeAll(async () => {
  const isLetIn = async (key: string, path: string, method = 'GET', body?: unknown) =>
    (await harness.call(method, path, body, { key })).status;
  const { keyId, rawKey } = await addKey(harness.store, harness.clock, {
    accountId: harness.accountId,
    name: 'left the company',
    role: 'ADMIN',
  });
  expect(await isLetIn(rawKey, '/v1/accounts/me')).toBe(200);
  await deleteKey(harness.store, keyId);
  revoked.account = rawKey;
  const made = await harness.call('POST', `/v1/private-locations/${location.id}/keys`);
  const claim = new TestAgent(harness, location).claimBody();
  expect(await isLetIn(made.body.rawKey, '/v1/agent/claims', 'POST', claim)).toBe(200);
  await harness.call('DELETE', `/v1/private-locations/${location.id}/keys/${made.body.id}`);
  revoked.location = made.body.rawKey;

  const removed = await harness.addAccount();
  const owned = await harness.call('POST', '/v1/private-locations', { name: 'x', slugName: 'x' }, removed);
  revoked.removedAccount = removed.key;
  revoked.removedLocation = owned.body.keys[0].rawKey;
  expect(await isLetIn(revoked.removedAccount, '/v1/accounts/me')).toBe(200);
  expect(await isLetIn(revoked.removedLocation, '/v1/agent/claims', 'POST', claim)).toBe(200);
  // No operation removes accounts: an operator does so in the database.
  const database = new DatabaseSync(join(folder.path, 'picket.sqlite'));
  database.prepare('delete from accounts where id = ?').run(removed.accountId);
  database.close();
});

describe.each(named([...accountRoutes, ...locationRoutes, ...optionalRoutes]))('%s', (_name, route) => {
  it('refuses a key that was revoked, or whose account was removed', async () => {
    for (const key of Object.values(revoked)) {
      const answer = await callBadly(route, key);
      expect([answer.status, answer.body.statusCode]).toEqual([401, 401]);
      // Naming the former account does not help.
      const named = await callBadly(route, key, { 'x-service-account': harness.accountId });
      expect(named.status).toBe(401);
    }
  });
});

describe.each(named([...accountRoutes, ...locationRoutes]))('%s', (_name, route) => {
  it('answers 401 before it looks at anything else', async () => {
    const wrongKind = route.credential === 'account' ? location.key : harness.key;
    for (const key of [null, 'unknown', wrongKind, 'x'.repeat(5000)]) {
      const answer = await callBadly(route, key);
      expect(answer.status).toBe(401);
      expect(answer.body).toMatchObject({ statusCode: 401, error: 'Unauthorized' });
      expect(answer.body.message).toMatch(/^Bad Token/);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
    for (const authorization of [
      '',
      'Bearer',
      `Basic ${harness.key}`,
      `Bearer ${harness.key} x`,
      harness.key,
    ]) {
      expect((await callBadly(route, null, { authorization })).status).toBe(401);
    }
  });
});

describe.each(named(optionalRoutes))('%s', (_name, route) => {
  it('accepts a key or none, but no invalid one', async () => {
    for (const key of ['unknown', location.key, 'x'.repeat(5000)]) {
      expect((await callBadly(route, key)).status).toBe(401);
    }
    for (const key of [null, harness.key]) expect((await callBadly(route, key)).status).toBe(400);
    const foreign = { 'x-service-account': randomUUID() };
    expect((await callBadly(route, harness.key, foreign)).status).toBe(403);
  });
});

describe.each(named(openRoutes))('%s', (_name, route) => {
  it('requires no key and shows nothing that is not public', async () => {
    const answer = await callBadly(route, null);
    expect([400, 404]).toContain(answer.status);
  });
});

describe.each(named(accountRoutes))('%s', (_name, route) => {
  const writes = route.method !== 'GET' && !route.isReadOnly;

  it.each([
    ['ADMIN', true],
    ['READ_WRITE', route.isAdmin !== true],
    ['READ_RUN', route.isRun === true || route.isOwn === true],
    ['READ_ONLY', route.isOwn === true],
  ] as const)(`admits the role %s: ${writes ? 'to write %s' : 'to read'}`, async (role, mayWrite) => {
    const answer = await callBadly(route, await harness.addKey(role));
    if ((writes && !mayWrite) || (route.isAdmin && role !== 'ADMIN')) {
      expect(answer.status).toBe(403);
      expect(answer.body).toMatchObject({ statusCode: 403, error: 'Forbidden' });
      expect(answer.body.message).toContain(role);
    } else expect(judged(route)).toContain(answer.status);
  });

  it('refuses a foreign account with 403 and accepts its own', async () => {
    const stranger = await harness.addAccount();
    for (const account of [stranger.accountId, 'nonsense', randomUUID()]) {
      for (const header of ['x-service-account', 'x-checkly-account']) {
        const answer = await callBadly(route, harness.key, { [header]: account });
        expect([route.operationId, header, answer.status]).toEqual([route.operationId, header, 403]);
      }
    }
    const own = await callBadly(route, harness.key, { 'x-service-account': harness.accountId.toUpperCase() });
    expect(judged(route)).toContain(own.status);
  });
});

it("shows nothing of another account's objects", async () => {
  const stranger = await harness.addAccount();
  const check = await createCheck(harness, { privateLocations: ['lab'] });
  const keys = await harness.call('GET', `/v1/private-locations/${location.id}`);
  const asStranger = { key: stranger.key };
  await harness.call('POST', '/v1/variables', { key: 'STAGE', value: 'a monitor' });
  const snippet = await harness.call('POST', '/v1/snippets', { name: 's', script: 'a monitor' });
  const certificate = await harness.call('POST', '/v1/client-certificates', {
    host: 'a.test',
    ...(await (await createAuthority()).issue()),
  });
  const group = await harness.call('POST', '/v1/check-groups', { name: 'a monitor' });
  const window = await harness.call('POST', '/v1/maintenance-windows', {
    name: 'a monitor',
    startsAt: '2026-01-01T00:00:00Z',
    endsAt: '2036-01-01T00:00:00Z',
  });
  const numbered: Record<string, string | undefined> = {
    'private-locations': location.id,
    snippets: String(snippet.body.id),
    'check-groups': String(group.body.id),
    'maintenance-windows': String(window.body.id),
    'client-certificates': certificate.body.id,
  };
  const params: Record<string, string> = {
    checkId: check.id,
    checkResultId: randomUUID(),
    keyId: keys.body.keys[0].id,
    key: 'STAGE',
    maintenanceId: '1',
    groupId: '7',
  };
  // A project is any name: projects of other accounts are different, empty projects.
  const ofObjects = accountRoutes.filter(({ path, params: has }) => has && !path.includes('{projectId}'));
  for (const route of ofObjects) {
    const id = numbered[route.path.split('/')[2] ?? ''] ?? check.id;
    const filled = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const schema = route.params?.shape[name];
      // Objects that this test does not create have unused ids.
      const known = [params[name] ?? id, randomUUID(), '7', '999999', '1999.01', `${'0'.repeat(64)}-1`];
      return known.find((text) => schema?.safeParse(text).success) ?? id;
    });
    const answer = await harness.call(
      route.method,
      filled + minimalQuery(route),
      route.body ? known(route, { name: 'taken over', archiveForEver: true, checkId: check.id }) : undefined,
      asStranger,
    );
    // Deleting a project that does not exist succeeds.
    const expected = route.operationId === 'deleteProject' ? 200 : 404;
    expect([route.operationId, answer.status]).toEqual([route.operationId, expected]);
    expect(JSON.stringify(answer.body)).not.toContain('a monitor');
  }
  for (const list of Object.keys({ checks: 0, 'check-statuses': 0, variables: 0, ...numbered })) {
    expect((await harness.call('GET', `/v1/${list}`, undefined, asStranger)).body).toEqual([]);
  }
  const foreignLocation = await harness.call(
    'POST',
    '/v1/checks/url',
    { name: 'x', privateLocations: ['lab'], request: { url: 'http://x.test' } },
    asStranger,
  );
  expect(foreignLocation.status).toBe(400);
  expect((await harness.call('GET', `/v1/checks/${check.id}`)).body).toEqual(check);
});

it('stores keys as hashes only and shows them in full only once', async () => {
  const created = await harness.call('POST', '/v1/private-locations', { name: 'keys', slugName: 'keys' });
  const [key] = created.body.keys;
  expect(key.rawKey).toMatch(/^pl_[0-9a-f]{32}$/);
  expect(key.maskedKey).toBe(`...${key.rawKey.slice(-4)}`);
  const read = await harness.call('GET', `/v1/private-locations/${created.body.id}`);
  expect(read.body.keys).toEqual([{ ...key, rawKey: key.maskedKey }]);
  expect(await harness.store.locations.findByKey(hashKey(key.rawKey))).toMatchObject({ slug_name: 'keys' });
  const [row] = await harness.store.locations.keys([created.body.id]);
  expect(JSON.stringify(row)).not.toContain(key.rawKey);

  const second = await harness.call('POST', `/v1/private-locations/${created.body.id}/keys`);
  expect(second.status).toBe(201);
  expect(second.body.rawKey).toMatch(/^pl_[0-9a-f]{32}$/);
  const third = await harness.call('POST', `/v1/private-locations/${created.body.id}/keys`);
  expect(third.status).toBe(409);
  expect(third.body).toMatchObject({ statusCode: 409, error: 'Conflict' });

  const claim = (raw: string) =>
    harness.call(
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
  const gone = await harness.call('DELETE', `/v1/private-locations/${created.body.id}/keys/${key.id}`);
  expect([gone.status, gone.body]).toEqual([204, '']);
  expect((await claim(key.rawKey)).status).toBe(401);
  expect((await claim(second.body.rawKey)).status).toBe(200);
  expect((await harness.call('POST', `/v1/private-locations/${created.body.id}/keys`)).status).toBe(201);
});

it('shows the token of a trigger, which runs checks, only to keys that may run checks', async () => {
  const check = await createCheck(harness, { privateLocations: [] });
  const group = await harness.call('POST', '/v1/check-groups', { name: 'Shops', locations: [] });
  for (const path of [`/v1/triggers/checks/${check.id}`, `/v1/triggers/check-groups/${group.body.id}`]) {
    const made = await harness.call('POST', path);
    expect(made.body.url).toContain(made.body.token);
    for (const role of ['READ_ONLY', 'READ_RUN', 'READ_WRITE'] as const) {
      const key = await harness.addKey(role);
      const { body } = await harness.call('GET', path, undefined, { key });
      const isShown = role !== 'READ_ONLY';
      expect([role, body.token, body.url]).toEqual([
        role,
        isShown ? made.body.token : '',
        isShown ? made.body.url : '',
      ]);
    }
  }
});

it('shows the address of pings, which report success, only to keys that may change checks', async () => {
  const heartbeat = { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'hours' };
  const group = await harness.call('POST', '/v1/check-groups', { name: 'Jobs', locations: [] });
  const made = await harness.call('POST', '/v1/checks/heartbeat', {
    name: 'Job',
    heartbeat,
    groupId: group.body.id,
  });
  expect(made.body.heartbeat.pingUrl).toContain(made.body.heartbeat.pingToken);
  const { id } = made.body;
  const paths = [
    [`/v1/checks/${id}`, `/v1/check-groups/${group.body.id}/checks/${id}`],
    ['/v1/checks?limit=100', `/v1/check-groups/${group.body.id}/checks`],
  ].flat();
  for (const role of ['READ_ONLY', 'READ_RUN', 'READ_WRITE'] as const) {
    const key = await harness.addKey(role);
    for (const path of paths) {
      const { body } = await harness.call('GET', path, undefined, { key });
      const shown = [body].flat().find((check: { id: string }) => check.id === id);
      const { pingToken, pingUrl } = shown.heartbeat;
      const isShown = role === 'READ_WRITE';
      expect([role, path, pingToken === null, pingUrl === null]).toEqual([role, path, !isShown, !isShown]);
    }
  }
});

/** The smallest body of a route, with the given values for fields that it has. */
function known(route: Route, fields: Readonly<Record<string, unknown>>): unknown {
  const taken = Object.entries(fields).filter(([name]) => name in shapeOf(route));
  return { ...(minimalBody(route) as object), ...Object.fromEntries(taken) };
}

function shapeOf({ body, documentedBody }: Route): object {
  const schema = documentedBody ?? body;
  return schema instanceof z.ZodObject ? schema.shape : {};
}
