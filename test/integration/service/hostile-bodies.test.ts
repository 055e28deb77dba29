import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definitionSchema } from '../../../src/checks/contract/definition/definition.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import { ClaimRequest } from '../../../src/protocol/agent/agent.ts';
import { checkRoutes } from '../../../src/protocol/checks/check.ts';
import type { Route } from '../../../src/protocol/http/route.ts';
import { allRoutes } from '../../../src/server/features.ts';
import { minimalBody, minimalQuery } from '../../helpers/service/minimal-value.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
} from '../../helpers/service/service.ts';
import { wrongValuesFor } from '../../helpers/service/wrong-values.ts';

let harness: ServiceHarness;
let location: TestLocation;
let agent: TestAgent;
let checkId: string;

beforeAll(async () => {
  harness = await openHarness();
  location = await createLocation(harness, 'lab');
  agent = new TestAgent(harness, location);
  checkId = (await createCheck(harness)).id;
});
afterAll(async () => {
  await harness.close();
});

describe('bodies that are not documents', () => {
  it.each([
    ['broken JSON', '{"name": ', 400],
    ['nothing', '', 400],
    ['null', 'null', 400],
    ['a number', '7', 400],
    ['a list', '[]', 400],
    ['a NUL in a text', '{"name":"a\\u0000b","request":{"url":"http://x"}}', 400],
    ['a NUL in a key', '{"name":"x","request":{"url":"http://x"},"a\\u0000":""}', 400],
    ['duplicate keys, the last wrong', '{"name":"x","name":7,"request":{"url":"http://x"}}', 400],
    ['duplicate keys, the last right', '{"name":7,"name":"x","request":{"url":"http://x"}}', 201],
    ['__proto__', '{"name":"x","__proto__":{"polluted":1},"request":{"url":"http://x"}}', 201],
    [
      'constructor',
      '{"name":"x","constructor":{"prototype":{"polluted":1}},"request":{"url":"http://x"}}',
      201,
    ],
    [
      'deep nesting',
      `{"name":"x","request":{"url":"http://x"},"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      400,
    ],
    [
      'deep nesting in a field',
      `{"name":"x","request":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`,
      400,
    ],
  ])('%s', async (_name, text, status) => {
    for (const path of ['/v1/checks/url', '/v1/checks']) {
      const payload = path === '/v1/checks' ? text.replace(/^\{/, '{"checkType":"URL",') : text;
      const answer = await harness.call('POST', path, payload);
      expect([path, answer.status]).toEqual([path, status]);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    }
  });

  it('refuses other media types, too large bodies and broken lengths', async () => {
    const send = async (headers: Record<string, string>, payload: string, url = '/v1/checks/url') => {
      const answer = await harness.app.inject({
        method: 'POST',
        url,
        headers: { authorization: `Bearer ${harness.key}`, ...headers },
        payload,
      });
      return { status: answer.statusCode, body: answer.json() };
    };
    expect(await send({ 'content-type': 'text/plain' }, '{}')).toMatchObject({
      status: 415,
      body: { statusCode: 415, error: 'Unsupported Media Type' },
    });
    expect(await send({ 'content-type': 'application/x-www-form-urlencoded' }, 'name=x')).toMatchObject({
      status: 415,
    });
    expect(await send({ 'content-type': 'nonsense' }, '{}')).toMatchObject({ status: 415 });
    for (const [url, limitMb] of [
      ['/v1/checks/url', 1],
      ['/v1/projects/deploy', 32],
    ] as const) {
      const large = JSON.stringify({ name: 'x'.repeat(limitMb * 2 ** 20) });
      expect(await send({ 'content-type': 'application/json' }, large, url)).toMatchObject({
        status: 413,
        body: {
          ...{ statusCode: 413, error: 'Payload Too Large' },
          message: `The body has at most ${limitMb * 2 ** 20} bytes here.`,
        },
      });
    }
  });

  it('treats details nested too deeply as one bad report', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const payload = `{"agentId":"a","sessionId":"${randomUUID()}","results":[${deep},{"detail":${deep}}]}`;
    const answer = await agent.call('results', payload);
    expect(answer.status).toBe(200);
    expect(answer.body.items.map(({ status }: { status: string }) => status)).toEqual([
      'rejected',
      'rejected',
    ]);
  });
});

it('never answers 5xx to any JSON', async () => {
  const routes = allRoutes.filter((route) => route.body);
  const known = fc.constantFrom(
    ...new Set([
      ...wrongValuesFor(definitionSchema(checkTypes[0] ?? never())).map(({ path }) => String(path[0])),
      ...Object.keys(ClaimRequest.shape),
      'leases',
      'results',
      'checkType',
    ]),
  );
  const bodies = fc.oneof(
    fc.json({ maxDepth: 6 }).map((text) => JSON.parse(text) as unknown),
    fc.dictionary(
      fc.oneof(known, fc.string()),
      fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom('URL', 'API')),
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...routes), bodies, async (route, body) => {
      const url = route.path.replace('{id}', route.path.includes('location') ? location.id : checkId);
      const answer = await harness.call(route.method, url, body, {
        key: route.credential === 'location' ? location.key : harness.key,
      });
      expect(answer.status).toBeLessThan(500);
    }),
    { numRuns: 400 },
  );
  await expect(harness.call('GET', `/v1/checks/${checkId}`)).resolves.toMatchObject({ status: 200 });
});

it('never answers 5xx to any text of a check', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 255 }), async (text) => {
      const answer = await harness.call('POST', '/v1/checks/api', {
        name: text,
        tags: [text],
        request: { url: text, headers: [{ key: text, value: text }], body: text },
      });
      expect([201, 400]).toContain(answer.status);
      if (answer.status === 201) expect(answer.body.request.body).toBe(text);
      const found = await harness.call('GET', `/v1/checks?search=${encodeURIComponent(text.toWellFormed())}`);
      expect(found.status).toBeLessThan(500);
    }),
    { numRuns: 150 },
  );
});

/** An unused id in the form that a parameter requires. */
function unknownId(route: Route, name: string): string {
  const schema = route.params?.shape[name];
  const id = [randomUUID(), '999999', '1999.01', `${'0'.repeat(64)}-1`].find(
    (text) => schema?.safeParse(text).success,
  );
  if (id === undefined) throw new Error(`${route.operationId} takes none of these as ${name}`);
  return id;
}

/** Test sessions name their project freely: any text is a project, and an unknown one has an empty list. */
const takesAnyText = new Set(['listTestSessionErrorGroupsOfProject']);

it('answers malformed ids with 400 and unknown ones with 404', async () => {
  const routes = allRoutes.filter(
    ({ operationId, params, credential }) =>
      params && credential === 'account' && !takesAnyText.has(operationId),
  );
  for (const route of routes) {
    const key = harness.key;
    const wrong = await harness.call(
      route.method,
      route.path.replaceAll(/\{\w+\}/g, encodeURIComponent('not an id!')),
      route.body ? {} : undefined,
      { key },
    );
    expect([route.operationId, wrong.status]).toEqual([route.operationId, 400]);
    expect(wrong.body.validation.source).toBe('params');
    const unknown = await harness.call(
      route.method,
      route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => unknownId(route, name)) + minimalQuery(route),
      minimalBody(route),
      { key },
    );
    // Deleting a project that does not exist succeeds.
    const expected = route.operationId === 'deleteProject' ? 200 : 404;
    expect([route.operationId, unknown.status]).toEqual([route.operationId, expected]);
  }
  expect((await harness.call('GET', `/v1/checks/${checkId.toUpperCase()}`)).status).toBe(200);
  expect(checkRoutes.getCheck.path).toBe('/v1/checks/{id}');
});

function never(): never {
  throw new Error('no check types');
}
