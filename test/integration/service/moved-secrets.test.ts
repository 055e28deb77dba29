import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLocation, openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let editor: string;

beforeAll(async () => {
  harness = await openHarness();
  editor = await harness.addKey('READ_WRITE');
  await createLocation(harness, 'lab');
});
afterAll(() => harness.close());

const call = (method: string, path: string, body?: unknown) =>
  harness.call(method, `/v1/${path}`, body, { key: editor });
const shown = { key: 'authorization', value: '', locked: true };
const headers = [{ ...shown, value: 'Bearer the-secret' }];
const request = { method: 'GET', url: 'https://api.example.com/a', headers };
const moved = { ...request, url: 'https://evil.example/', headers: [shown] };
const check = { name: 'API', privateLocations: ['lab'], activated: false, request };

it('a locked header of a check is sent to no origin that it was not entered for, by any route', async () => {
  const { body: made } = await call('POST', 'checks/api', check);
  const requests: [string, string, unknown, string][] = [
    ['PUT', `checks/api/${made.id}`, { request: moved }, 'request.headers.0.value'],
    ['PUT', `checks/api/${made.id}`, { request: { url: moved.url } }, 'request.headers.0.value'],
    ['PUT', `checks/${made.id}`, { request: moved }, 'request.headers.0.value'],
    [
      'POST',
      'test-sessions/run',
      {
        name: 'run',
        project: { logicalId: 'p' },
        runLocation: { type: 'PRIVATE', slugName: 'lab' },
        checkRunJobs: [{ ...check, request: moved, logicalId: 'c', checkType: 'API', checkId: made.id }],
      },
      'request.headers.0.value',
    ],
  ];
  for (const [method, path, body, field] of requests) {
    const answer = await call(method, path, body);
    expect([path, answer.status, answer.body.validation?.keys]).toEqual([path, 400, [field]]);
  }
  const stored = await harness.store.checks.find(harness.accountId, made.id);
  expect(stored?.definition.request).toMatchObject(request);
  const entered = await call('PUT', `checks/api/${made.id}`, { request: { ...moved, headers } });
  expect(entered.status).toBe(200);
});

it('the defaults of a group stay with their base address', async () => {
  const defaults = { url: 'https://api.example.com', headers };
  const { body: group } = await call('POST', 'check-groups', { name: 'g', apiCheckDefaults: defaults });
  const answer = await call('PUT', `check-groups/${group.id}`, {
    apiCheckDefaults: { url: 'https://evil.example' },
  });
  expect([answer.status, answer.body.validation?.keys]).toEqual([400, ['apiCheckDefaults.headers.0.value']]);
});

it('a deployment moves no hidden value either', async () => {
  harness.startDeployments();
  const config = { name: 'hook', url: 'https://hooks.example.com', headers };
  const resources = [
    ['alert-channel', { type: 'WEBHOOK', config }],
    ['check', { ...check, checkType: 'API' }],
  ] as const;
  for (const [type, payload] of resources) {
    const project = { logicalId: `shop-${type}`, name: 'Shop' };
    const made = await call('POST', 'projects/deploy', {
      project,
      resources: [{ type, logicalId: 'one', member: true, payload }],
      sharedFiles: [],
    });
    expect([type, made.status]).toEqual([type, 202]);
    const done = await call('GET', `projects/${project.logicalId}/deployments/${made.body.id}/completion`);
    expect([type, done.body.status]).toEqual([type, 'SUCCEEDED']);
    const changed =
      type === 'check'
        ? { ...payload, request: moved }
        : { ...payload, config: { ...config, url: moved.url, headers: [shown] } };
    const answer = await call('POST', 'projects/deploy?dryRun=true', {
      project,
      resources: [{ type, logicalId: 'one', member: true, payload: changed }],
      sharedFiles: [],
    });
    expect([type, answer.status, answer.body.message]).toEqual([
      type,
      400,
      expect.stringContaining('must be entered again'),
    ]);
  }
});
