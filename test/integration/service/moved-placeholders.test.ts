import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';

/** A hidden value stays with the address it was entered for, even if the address consists of variables. */

let harness: ServiceHarness;
const keys: Record<string, string> = {};

beforeAll(async () => {
  harness = await openHarness();
  await new TestAgent(harness, await createLocation(harness, 'lab')).claim();
  for (const role of ['ADMIN', 'READ_WRITE', 'READ_RUN'] as const) keys[role] = await harness.addKey(role);
});
afterAll(() => harness.close());

const callAs = (role: string) => (method: string, path: string, body?: unknown) =>
  harness.call(method, path.startsWith('/') ? path : `/v1/${path}`, body, { key: keys[role] ?? '' });
const call = callAs('READ_WRITE');
const headers = [{ key: 'authorization', value: 'Bearer the-secret', locked: true }];
const variable = (key: string, value: string) => ({ key, value });
const check = (url: string, more: object = {}) => ({
  name: `Check of ${url}`,
  privateLocations: ['lab'],
  activated: false,
  request: { method: 'GET', url, headers },
  ...more,
});
const make = async (path: string, body: unknown) => {
  const { status, body: made } = await call('POST', path, body);
  expect([path, status, made.message]).toEqual([path, 201, undefined]);
  return made;
};
const asked = async (request: readonly [string, string, unknown?], role = 'READ_WRITE') => {
  const { status, body } = await callAs(role)(...request);
  return [request[1], status, body?.validation?.keys ?? body?.message];
};
const adminOnly = expect.stringContaining('ADMIN');

describe('a variable of the check', () => {
  const field = ['request.headers.0.value'];
  const evil = 'evil.example';

  it.each([
    ['https://{{HOST}}/a', 'HOST', 'api.example.com', evil],
    ['https://{{{HOST}}}/a', 'HOST', 'api.example.com', evil],
    ['{{ BASE }}/a', 'BASE', 'https://api.example.com/v1', `https://${evil}/v1`],
    ['https://api.example.com{{{END}}}/a', 'END', '', `@${evil}`],
    ['{{SCHEME}}://api.example.com/a', 'SCHEME', 'https', 'http'],
    ['https://{{#if TEST}}test{{else}}api{{/if}}.example.com/a', 'TEST', '', 'yes'],
    ['https://api.example.com:{{PORT}}/a', 'PORT', '443', '8443'],
    ['https://{{HOST-NAME}}/a', 'HOST-NAME', 'api.example.com', evil],
  ])('%s', async (url, key, before, after) => {
    const made = await make('checks/api', check(url, { environmentVariables: [variable(key, before)] }));
    const changed = { environmentVariables: [variable(key, after)] };
    expect(await asked(['PUT', `checks/api/${made.id}`, changed])).toEqual([
      `checks/api/${made.id}`,
      400,
      field,
    ]);
    expect(await asked(['PUT', `checks/${made.id}`, { environmentVariables: [] }], 'ADMIN')).toEqual([
      `checks/${made.id}`,
      400,
      field,
    ]);
    const entered = { ...changed, request: { headers } };
    expect(await asked(['PUT', `checks/api/${made.id}`, entered])).toEqual([
      `checks/api/${made.id}`,
      200,
      undefined,
    ]);
  });

  it('that leads to another path changes nothing, nor does the same address in another spelling', async () => {
    const own = [variable('BASE', 'https://api.example.com/v1'), variable('ID', '1')];
    const made = await make('checks/api', check('{{BASE}}/{{ID}}', { environmentVariables: own }));
    for (const body of [
      { environmentVariables: [variable('BASE', 'https://api.example.com:443/v2'), variable('ID', '2')] },
      { request: { url: 'https://api.example.com/v2/{{ID}}' } },
      { environmentVariables: [] },
    ]) {
      expect((await asked(['PUT', `checks/api/${made.id}`, body]))[1]).toBe(200);
    }
  });
});

it('another group is another base address', async () => {
  const group = (url: string) => make('check-groups', { name: url, apiCheckDefaults: { url } });
  const [good, evil] = [await group('https://api.example.com'), await group('https://evil.example')];
  const made = await make('checks/api', check('{{GROUP_BASE_URL}}/a', { groupId: good.id }));
  for (const body of [{ groupId: evil.id }, { groupId: null }]) {
    const path = `checks/api/${made.id}`;
    expect(await asked(['PUT', path, body])).toEqual([path, 400, ['request.headers.0.value']]);
  }
});

describe('shared values', () => {
  it('of a group are moved only by an ADMIN', async () => {
    const defaults = { apiCheckDefaults: { url: 'https://api.example.com/v1' } };
    const own = { environmentVariables: [variable('HOST', 'api.example.com'), variable('OTHER', 'x')] };
    const { id } = await make('check-groups', { name: 'shared', ...defaults, ...own });
    const path = `check-groups/${id}`;
    await make('checks/api', check('{{GROUP_BASE_URL}}/a', { groupId: id }));
    await make('checks/api', check('https://{{HOST}}/a', { groupId: id }));
    const moves = [
      { apiCheckDefaults: { url: 'https://evil.example' } },
      { environmentVariables: [variable('HOST', 'evil.example')] },
      { environmentVariables: [] },
      {
        environmentVariables: [
          variable('HOST', 'api.example.com'),
          variable('GROUP_BASE_URL', 'https://evil.example'),
        ],
      },
    ];
    for (const body of moves) expect(await asked(['PUT', path, body])).toEqual([path, 403, adminOnly]);
    const harmless = {
      apiCheckDefaults: { url: 'https://api.example.com/v2' },
      environmentVariables: [variable('HOST', 'api.example.com'), variable('OTHER', 'y')],
    };
    expect((await asked(['PUT', path, harmless]))[1]).toBe(200);
    expect((await asked(['PUT', path, moves[0]], 'ADMIN'))[1]).toBe(200);
  });

  it('in variables of the account are, too', async () => {
    const hosts = await make('variables', variable('API_HOST', 'api.example.com'));
    expect(hosts.key).toBe('API_HOST');
    const made = await make('checks/api', check('https://{{API_HOST}}/a'));
    await make('checks/grpc', {
      ...check(''),
      request: {
        url: '{{GRPC_HOST}}',
        port: 443,
        grpcConfig: { method: 'a.B/C', metadata: headers },
      },
    });
    const moves = [
      ['PUT', 'variables/API_HOST', { value: 'evil.example' }],
      ['DELETE', 'variables/API_HOST'],
      ['POST', 'variables', variable('GRPC_HOST', 'evil.example')],
    ] as const;
    for (const request of moves) {
      const [, , message] = await asked(request);
      expect([request[1], message]).toEqual([
        request[1],
        expect.stringContaining(`"${request[1] === 'variables' ? 'Check of ' : made.name}"`),
      ]);
    }
    for (const harmless of [
      ['PUT', 'variables/API_HOST', { value: 'api.example.com', locked: true }],
      ['POST', 'variables', variable('TIMEOUT', '1')],
      ['PUT', 'variables/TIMEOUT', { value: '2' }],
      ['DELETE', 'variables/TIMEOUT'],
    ] as const) {
      expect((await asked(harmless))[1]).toBeLessThan(300);
    }
    for (const request of moves) expect((await asked(request, 'ADMIN'))[1]).toBeLessThan(300);
  });

  it('in variables of a session are, too', async () => {
    const own = { environmentVariables: [variable('HOST', 'api.example.com')], activated: true };
    const made = await make('checks/api', check('https://{{HOST}}/a', own));
    const location = { type: 'PRIVATE', slugName: 'lab' };
    const requests = (value: string) =>
      [
        [
          'POST',
          'test-sessions/trigger',
          {
            name: 's',
            runLocation: 'lab',
            target: { checkId: made.id },
            environmentVariables: [variable('HOST', value)],
          },
        ],
        [
          'POST',
          '/next/test-sessions/trigger',
          { runLocation: location, checkId: made.id, environmentVariables: [variable('HOST', value)] },
        ],
      ] as const;
    for (const role of ['READ_RUN', 'READ_WRITE']) {
      for (const request of requests('evil.example')) {
        expect(await asked(request, role)).toEqual([request[1], 403, adminOnly]);
      }
      for (const request of requests('api.example.com')) {
        expect((await asked(request, role))[1]).toBeLessThan(300);
      }
    }
    for (const request of requests('evil.example')) {
      expect((await asked(request, 'ADMIN'))[1]).toBeLessThan(300);
    }
  });

  it("in a definition that runs with hidden values of a check stay with the check's address", async () => {
    const { id: groupId } = await make('check-groups', {
      name: 'g',
      apiCheckDefaults: { url: 'https://api.example.com' },
    });
    const made = await make('checks/api', check('{{GROUP_BASE_URL}}/a', { groupId }));
    const shown = [{ ...headers[0], value: '' }];
    const job = {
      name: 'j',
      logicalId: 'c',
      checkType: 'API',
      checkId: made.id,
      request: { method: 'GET', url: '{{GROUP_BASE_URL}}/b', headers: shown },
    };
    const run = (more: object, session: object = {}) =>
      asked([
        'POST',
        'test-sessions/run',
        {
          name: 'run',
          runLocation: { type: 'PRIVATE', slugName: 'lab' },
          checkRunJobs: [{ ...job, ...more }],
          ...session,
        },
      ]);
    const group = (url: string) => ({ group: { name: 'g', apiCheckDefaults: { url } } });
    const base = (value: string) => [variable('GROUP_BASE_URL', value)];
    const evil = 'https://evil.example';
    const refused = ['test-sessions/run', 400, ['request.headers.0.value']];
    expect(await run(group(evil))).toEqual(refused);
    expect(await run({ groupId, environmentVariables: base(evil) })).toEqual(refused);
    expect(await run({ groupId }, { environmentVariables: base(evil) })).toEqual(refused);
    expect((await run({ groupId }))[1]).toBe(202);
    expect((await run(group('https://api.example.com')))[1]).toBe(202);
  });
});

it('a deployment moves no value either', async () => {
  harness.startDeployments();
  const deploy = async (host: string, payload: object, group: object = {}) => {
    const answer = await call('POST', 'projects/deploy', {
      project: { logicalId: 'shop', name: 'Shop' },
      resources: [
        { type: 'check-group', logicalId: 'g', member: true, payload: { name: 'g', ...group } },
        {
          type: 'check',
          logicalId: 'c',
          member: true,
          payload: { ...check(host), checkType: 'API', groupId: { ref: 'g' }, ...payload },
        },
      ],
      sharedFiles: [],
    });
    if (answer.status !== 202) return [answer.status, answer.body.message];
    const path = `projects/shop/deployments/${answer.body.id}/completion`;
    const { body } = await call('GET', path);
    return [body.status, body.error?.message ?? body.error];
  };
  const own = (value: string) => ({ environmentVariables: [variable('HOST', value)] });
  const request = { method: 'GET', url: 'https://{{HOST}}/a', headers };
  const hidden = { request: { ...request, headers: [{ ...headers[0], value: '' }] } };
  expect((await deploy('', { request, ...own('api.example.com') }))[0]).toBe('SUCCEEDED');
  expect((await deploy('', { ...hidden, ...own('api.example.com') }))[0]).toBe('SUCCEEDED');
  expect(await deploy('', { ...hidden, ...own('evil.example') })).toEqual([
    400,
    expect.stringContaining('must be entered again'),
  ]);
  expect((await deploy('', { request, ...own('other.example') }))[0]).toBe('SUCCEEDED');
  expect((await deploy('', { request }, own('third.example')))[0]).toBe('SUCCEEDED');
  expect(await deploy('', hidden, own('evil.example'))).toEqual(['FAILED', adminOnly]);
});

it('a webhook with locked values must name its host', async () => {
  const channel = (config: object) => ({ type: 'WEBHOOK', config: { name: 'hook', ...config } });
  const hook = (url: string) => call('POST', 'alert-channels', channel({ url, headers }));
  for (const url of [
    'https://{{CHECK_NAME}}/x',
    '{{{tagValue "hook"}}}',
    'https://a.example{{{CHECK_NAME}}}/',
  ]) {
    const { status, body } = await hook(url);
    expect([url, status, body.validation?.keys]).toEqual([url, 400, ['config.url']]);
  }
  expect((await hook('https://hooks.example.com/{{CHECK_NAME}}')).status).toBe(201);
  const open = channel({ url: 'https://{{CHECK_NAME}}/x', headers: [] });
  expect((await call('POST', 'alert-channels', open)).status).toBe(201);
});
