import { createPrivateKey, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { definitionSchema } from '../../../src/checks/contract/definition/definition.ts';
import { frequencies } from '../../../src/checks/contract/frequency.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import * as protocol from '../../../src/protocol/agent/agent.ts';
import { CheckGroupInput } from '../../../src/protocol/checks/check-group.ts';
import {
  PrivateLocationInput,
  PrivateLocationPatch,
} from '../../../src/protocol/locations/private-location.ts';
import { CheckResultQuery } from '../../../src/protocol/results/check-result.ts';
import { ErrorGroupPatch } from '../../../src/protocol/results/error-group.ts';
import { AnalysisRequest } from '../../../src/protocol/results/root-cause-analysis.ts';
import { CancelSession, CheckSessionTrigger } from '../../../src/protocol/sessions/check-session.ts';
import { TestSessionTrigger } from '../../../src/protocol/sessions/test-session.ts';
import { sampleOf } from '../../helpers/night.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
} from '../../helpers/service/service.ts';
import { namesPath, type WrongValue, withValue, wrongValuesFor } from '../../helpers/service/wrong-values.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import type { Samples } from '../conformance/samples/samples.ts';

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

const describeWrong = ({ path, why }: WrongValue) => `${path.join('.')}: ${why}`;

/** Sends each wrong value separately. Returns descriptions of those that were not refused correctly. */
async function sendAll(
  wrong: readonly WrongValue[],
  send: (value: WrongValue) => Promise<{ status: number; body: unknown }>,
): Promise<string[]> {
  const unrefused: string[] = [];
  for (const value of wrong) {
    const { status, body } = await send(value);
    const { validation, message } = body as {
      validation?: { source: string; keys: string[] };
      message?: string;
    };
    const isNamed = status === 400 && namesPath(validation?.keys ?? [], value.path);
    if (!isNamed || !message) unrefused.push(`${describeWrong(value)} -> ${status} ${JSON.stringify(body)}`);
  }
  return unrefused;
}

describe.each(checkTypes.map((type) => [type.name, type] as const))('wrong fields of %s', (_name, type) => {
  let valid: Readonly<Record<string, unknown>>;
  const wrong = wrongValuesFor(definitionSchema(type));
  beforeAll(async () => {
    const { samples } = await import(`../conformance/samples/${type.route}.ts`);
    valid = { name: 'x', ...(samples as Samples).minimal };
  });

  it('has wrong values for every field', () => {
    expect(wrong.length).toBeGreaterThan(200);
    const described = wrong.map(describeWrong);
    expect(described).toContain('description: too long');
    expect(described).toContain('environmentVariables: too many');
    for (const field of Object.keys(type.spec.shape)) {
      expect(described.some((line) => line.startsWith(`${field}: `) || line.startsWith(`${field}.`))).toBe(
        true,
      );
    }
  });

  // Most are in the fields that all types share: by day a sample is sent, a different one for each type.
  const isOwn = ({ path: [field] }: WrongValue) => field !== undefined && field in type.spec.shape;
  const shared = wrong.filter((value) => !isOwn(value));
  const sent = [...sampleOf(wrong.filter(isOwn), 15), ...sampleOf(shared, 10)];

  it('are refused with 400 and named, on creation', async () => {
    const unrefused = await sendAll(sent, ({ path, value }) =>
      harness.call('POST', `/v1/checks/${type.route}`, withValue(valid, path, value)),
    );
    expect(unrefused).toEqual([]);
  });

  it('are refused with 400 and named, on a change', async () => {
    // A check with hidden values in a group: most of the stored data affects how a change is parsed.
    const { body: group } = await harness.call('POST', '/v1/check-groups', { name: 'x' });
    const environmentVariables = [{ key: 'TOKEN', value: 'a hidden value', secret: true }];
    const whole = { ...valid, groupId: group.id, environmentVariables };
    const created = await harness.call('POST', `/v1/checks/${type.route}`, whole);
    const unrefused = await sendAll(sent, ({ path, value }) =>
      harness.call(
        'PUT',
        `/v1/checks/${type.route}/${created.body.id}`,
        withValue(type.requiredOnUpdate ? valid : {}, path, value),
      ),
    );
    expect(unrefused).toEqual([]);
    const after = await harness.call('GET', `/v1/checks/${created.body.id}`);
    expect(after.body).toEqual(created.body);
  });

  it('are named all at once', async () => {
    // A field that every check of the type must have, or any field if all have defaults.
    const fields = Object.keys(type.spec.shape);
    const own = fields.find((key) => key in valid) ?? fields[0] ?? '';
    const answer = await harness.call('POST', `/v1/checks/${type.route}`, {
      ...valid,
      name: '',
      frequency: 3,
      tags: ['ok', ''],
      [own]: [7],
    });
    expect(answer.status).toBe(400);
    expect([...answer.body.validation.keys].sort()).toEqual(['frequency', 'name', own, 'tags.1'].sort());
    expect(answer.body.validation.source).toBe('payload');
    expect(answer.body.message).toMatch(
      /"frequency" must be one of \[(0, 1, 2, )?5, 10, 15, 30, 60, 120, 180, 360, 720, 1440\]/,
    );
  });
});

it('accepts exactly the frequency and offset pairs of the three rules', async () => {
  for (const frequency of frequencies) {
    const max = frequency <= 60 ? Math.floor(frequency * 10) : Math.ceil(frequency / 60);
    const offsets =
      frequency === 0 ? [0, 1, 9, 10, 11, 19, 20, 21, 30, 31, 40] : [0, 1, 2, max - 1, max, max + 1];
    for (const frequencyOffset of offsets) {
      const isAllowed =
        frequency === 0
          ? [10, 20, 30].includes(frequencyOffset)
          : frequencyOffset >= 1 && frequencyOffset <= max;
      const answer = await harness.call('POST', '/v1/checks/url', {
        name: 'x',
        frequency,
        frequencyOffset,
        request: { url: 'http://x.test' },
      });
      expect([frequency, frequencyOffset, answer.status]).toEqual([
        frequency,
        frequencyOffset,
        isAllowed ? 201 : 400,
      ]);
      if (!isAllowed) expect(answer.body.validation.keys).toEqual(['frequencyOffset']);
    }
  }
});

it('applies limits exactly', async () => {
  const request = { url: 'http://x.test' };
  const create = async (fields: object) =>
    (await harness.call('POST', '/v1/checks/url', { name: 'x', request, ...fields })).status;
  const variables = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ key: `K${index}`, value: 'v' }));
  expect(await create({ description: 'x'.repeat(500) })).toBe(201);
  expect(await create({ description: 'x'.repeat(501) })).toBe(400);
  expect(await create({ environmentVariables: variables(100) })).toBe(201);
  expect(await create({ environmentVariables: variables(101) })).toBe(400);
  expect(await create({ maxResponseTime: 30_000, degradedResponseTime: 0 })).toBe(201);
  expect(await create({ maxResponseTime: null, degradedResponseTime: null })).toBe(201);
  expect(await create({ groupOrder: -1 })).toBe(400);
  for (const [query, status] of [
    ['limit=0', 400],
    ['limit=1', 200],
    ['limit=100', 200],
    ['limit=101', 400],
    ['limit=x', 400],
    ['limit=1.5', 400],
    ['page=0', 400],
    ['page=1000000000', 200],
    ['page=1e9', 200],
    ['page=1000000001', 400],
    ['nobody=knows', 400],
    ['search=%00', 400],
    ['tag=%00&tag=a', 400],
  ] as const) {
    expect([query, (await harness.call('GET', `/v1/checks?${query}`)).status]).toEqual([query, status]);
  }
});

describe('wrong queries of the results list', () => {
  it.each([
    ['from=yesterday', 'from'],
    ['to=99999999999999999', 'to'],
    ['from=-5', 'from'],
    ['hasFailures=perhaps', 'hasFailures'],
    ['resultType=SOME', 'resultType'],
    ['checkType=XYZ', 'checkType'],
    ['location=', 'location'],
    ['limit=101', 'limit'],
    ['from=2026-01-02&to=2026-01-01', 'to'],
  ])('%s', async (query, key) => {
    const answer = await harness.call('GET', `/v1/check-results/${checkId}?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.validation).toEqual({ source: 'query', keys: [key] });
    expect(Object.keys(CheckResultQuery.shape)).toContain(key);
  });
});

describe('wrong fields of the agent protocol', () => {
  it.each<[string, z.ZodType]>([
    ['claims', protocol.ClaimRequest],
    ['leases/renew', protocol.RenewRequest],
    ['leases/release', protocol.ReleaseRequest],
    ['results', protocol.ResultsRequest],
  ])('%s', async (path, schema) => {
    const valid = {
      ...agent.claimBody(),
      leases: [{ runId: randomUUID(), leaseNumber: 1 }],
      results: [{}],
    };
    expect((await agent.call(path, valid)).status).toBe(200);
    const wrong = wrongValuesFor(schema);
    expect(wrong.length).toBeGreaterThan(10);
    const unrefused = await sendAll(wrong, ({ path: field, value }) =>
      agent.call(path, withValue(valid, field, value)),
    );
    expect(unrefused).toEqual([]);
  });

  it('rejects a report with a wrong field separately and names the field', async () => {
    const report = {
      resultId: randomUUID(),
      runId: randomUUID(),
      leaseNumber: 1,
      startedAt: 1,
      stoppedAt: 2,
      responseTimeMs: 1,
      startDelayMs: 0,
      agentLagMs: 0,
      isDegraded: null,
      overMaxResponseTime: null,
      failure: { owner: 'target', code: 'REDIRECT_LIMIT', message: '' },
      errorMessages: [],
      detail: null,
    };
    // Unknown facts are ignored, and the result is kept: an agent may be newer.
    const wrong = wrongValuesFor(protocol.ResultReport).filter(({ path }) => path[1] !== 'details');
    expect(wrong.length).toBeGreaterThan(50);
    const results = wrong.map(({ path, value }) => withValue(report, path, value));
    const answer = await agent.call('results', { ...agent.identity, results });
    expect(answer.status).toBe(200);
    wrong.forEach((value, index) => {
      const { status, reason } = answer.body.items[index];
      expect([describeWrong(value), status]).toEqual([describeWrong(value), 'rejected']);
      expect(reason).toContain(`"${value.path.join('.')}`);
    });
  });
});

describe('wrong fields of private locations', () => {
  it('are refused with 400 and named', async () => {
    const created = await sendAll(wrongValuesFor(PrivateLocationInput), ({ path, value }) =>
      harness.call('POST', '/v1/private-locations', withValue({ name: 'x', slugName: 'x' }, path, value)),
    );
    expect(created).toEqual([]);
    const changed = await sendAll(wrongValuesFor(PrivateLocationPatch), ({ path, value }) =>
      harness.call('PUT', `/v1/private-locations/${location.id}`, withValue({}, path, value)),
    );
    expect(changed).toEqual([]);
  });

  it.each(['us-east-1', 'eu-central-12', 'with space', 'ümlaut', '', 'x'.repeat(31)])(
    'refuses the slug %s',
    async (slugName) => {
      const answer = await harness.call('POST', '/v1/private-locations', { name: 'x', slugName });
      expect(answer.status).toBe(400);
      expect(answer.body.validation.keys).toEqual(['slugName']);
    },
  );
});

const oneHour = {
  name: 'x',
  pauseAllChecks: true,
  startsAt: '2026-01-01T00:00:00Z',
  endsAt: '2026-01-01T01:00:00Z',
};

it('names wrong fields of check groups', async () => {
  const valid = { name: 'x' };
  const wrong = sampleOf(wrongValuesFor(CheckGroupInput), 40); // Most are in fields that checks have, too.
  expect(wrong.length).toBeGreaterThan(10);
  const created = await sendAll(wrong, ({ path, value }) =>
    harness.call('POST', '/v1/check-groups', withValue(valid, path, value)),
  );
  expect(created).toEqual([]);
  const { body: group } = await harness.call('POST', '/v1/check-groups', valid);
  const changed = await sendAll(wrong, ({ path, value }) =>
    harness.call('PUT', `/v1/check-groups/${group.id}`, withValue({}, path, value)),
  );
  expect(changed).toEqual([]);
});

it('client certificates are refused with a wrong certificate, key or passphrase, which is named', async () => {
  const [authority, one, other] = [
    (await createAuthority()).cert,
    await (await createAuthority()).issue(),
    await (await createAuthority()).issue(),
  ];
  const encrypted = createPrivateKey(one.key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'right',
  });
  const cut = one.cert.replace(/\n[^\n]+\n-----END/, '\n-----END');
  for (const [keys, fields] of [
    [['cert'], { cert: 'none' }],
    [['cert'], { cert: cut }],
    [['cert'], { cert: `${one.cert}\n-----BEGIN CERTIFICATE-----\nMIIB` }],
    [['cert'], { cert: `${one.cert}\n${one.key}` }],
    [['key'], { key: other.key }],
    [['key'], { key: one.cert }],
    [['key'], { key: 'none' }],
    [['passphrase'], { key: encrypted }],
    [['passphrase'], { key: encrypted, passphrase: 'wrong' }],
    [['ca'], { ca: one.key }],
    [['cert', 'key', 'ca'], { cert: 'a', key: 'b', ca: 'c' }],
    [['host'], { host: 'https://a.test' }],
    [['host'], { host: 'a.test:443' }],
    [undefined, { key: encrypted, passphrase: 'right', ca: authority, host: '*.a.test' }],
  ] as const) {
    const answer = await harness.call('POST', '/v1/client-certificates', {
      host: 'a.test',
      ...one,
      ...fields,
    });
    expect([fields, answer.status, answer.body.validation?.keys]).toEqual([fields, keys ? 400 : 201, keys]);
    expect(JSON.stringify(answer.body)).not.toContain('PRIVATE');
  }
});

it.each<[string[], object]>([
  [['endsAt'], { endsAt: oneHour.startsAt }],
  [['repeatUnit'], { repeatInterval: 1 }],
  [['repeatInterval'], { repeatUnit: 'DAY' }],
  [['repeatEndsAt'], { repeatEndsAt: '2027-01-01T00:00:00Z' }],
  [['repeatEndsAt'], { repeatInterval: 1, repeatUnit: 'DAY', repeatEndsAt: '2025-01-01T00:00:00Z' }],
  [['startsAt'], { startsAt: '2026-01-01' }],
  [['startsAt'], { startsAt: '1969-12-31T23:59:59Z' }],
  [['endsAt'], { endsAt: '9999-12-31T23:59:59-01:00' }],
])('a maintenance window with a wrong %s is refused', async (keys, fields) => {
  const answer = await harness.call('POST', '/v1/maintenance-windows', { ...oneHour, ...fields });
  expect([answer.status, answer.body.validation?.keys]).toEqual([400, keys]);
});

describe('wrong fields of sessions and error groups', () => {
  it.each<[string, string, z.ZodType, object]>([
    ['POST', 'check-sessions/trigger', CheckSessionTrigger, {}],
    ['POST', 'test-sessions/trigger', TestSessionTrigger, { name: 'x', runLocation: 'lab' }],
    ['POST', `check-sessions/${randomUUID()}/cancel`, CancelSession, {}],
    ['PATCH', `error-groups/${randomUUID()}`, ErrorGroupPatch, { archiveForEver: true }],
    ['PATCH', `test-session-error-groups/${randomUUID()}`, ErrorGroupPatch, { archiveForEver: true }],
    ['POST', `root-cause-analyses/error-groups/${randomUUID()}`, AnalysisRequest, {}],
  ])('%s %s: are refused with 400 and named', async (method, path, schema, valid) => {
    const wrong = wrongValuesFor(schema);
    expect(wrong.length).toBeGreaterThan(3);
    const unrefused = await sendAll(wrong, ({ path: field, value }) =>
      harness.call(method, `/v1/${path}`, withValue(valid, field, value)),
    );
    expect(unrefused).toEqual([]);
    expect([201, 404, 409]).toContain((await harness.call(method, `/v1/${path}`, valid)).status);
  });

  it.each([
    ['test-sessions?limit=101', 'limit'],
    ['test-sessions?statuses=GREEN', 'statuses'],
    ['test-sessions?textSearch=ab', 'textSearch'],
    ['test-sessions?nextId=first', 'nextId'],
    ['error-groups?limit=0', 'limit'],
    ['error-groups?includeArchived=perhaps', 'includeArchived'],
    [`check-sessions/${randomUUID()}/completion?maxWaitSeconds=31`, 'maxWaitSeconds'],
    [`checks/heartbeats/${randomUUID()}/events?limit=11`, 'limit'],
    [`checks/heartbeats/${randomUUID()}/availability?startTime=soon`, 'startTime'],
  ])('%s', async (path, key) => {
    const answer = await harness.call('GET', `/v1/${path}`);
    expect(answer.status).toBe(400);
    expect(answer.body.validation).toEqual({ source: 'query', keys: [key] });
  });

  it('names a missing location', async () => {
    const body = { name: 'x', runLocation: 'nowhere' };
    const answer = await harness.call('POST', '/v1/test-sessions/trigger', body);
    expect(answer.body.validation).toEqual({ source: 'payload', keys: ['runLocation'] });
  });
});
