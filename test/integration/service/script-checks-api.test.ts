import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const script = "import { test } from '@playwright/test'; test('t', () => {});";
const types = [
  { route: 'browser', checkType: 'BROWSER' },
  { route: 'multistep', checkType: 'MULTI_STEP' },
];

describe.each(types)('a $checkType check', ({ route, checkType }) => {
  const create = (fields: object = {}) =>
    harness.call('POST', `/v1/checks/${route}`, { name: 'Login', script, ...fields });

  it('is created, read, changed and deleted', async () => {
    const dependencies = [{ path: 'pages/login.ts', content: 'export const path = "/login";' }];
    const made = await create({ dependencies, scriptPath: 'login.spec.ts', runtimeId: '2025.04' });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ checkType, script, dependencies, scriptPath: 'login.spec.ts' });
    const { dependencies: _files, ...without } = made.body;
    const lean = await harness.call('GET', `/v1/checks/${made.body.id}?includeDependencies=false`);
    expect(lean.body).toEqual(without);
    const read = await harness.call('GET', `/v1/checks/${made.body.id}`);
    expect(read.body).toEqual(made.body);
    const changed = await harness.call('PUT', `/v1/checks/${route}/${made.body.id}`, { runtimeId: null });
    expect(changed.body).toMatchObject({ script, dependencies, runtimeId: null });
    expect((await harness.call('DELETE', `/v1/checks/${made.body.id}`)).status).toBe(204);
  });

  it('can be created by the general route too', async () => {
    const made = await harness.call('POST', '/v1/checks', { name: 'Login', checkType, script });
    expect([made.status, made.body.checkType, made.body.dependencies]).toEqual([201, checkType, null]);
  });

  it.each([
    ['frequency', { frequency: 0 }],
    ['script', { script: '' }],
    ['scriptPath', { scriptPath: '/etc/passwd' }],
    ['scriptPath', { scriptPath: 'login.py' }],
    ['dependencies.0.path', { dependencies: [{ path: '../up.ts', content: 'x' }] }],
    ['dependencies.0.path', { dependencies: [{ path: '.picket/notes.ndjson', content: 'x' }] }],
    ['dependencies.0.path', { dependencies: [{ path: 'x'.repeat(1001), content: 'x' }] }],
  ])('is refused with a wrong %s', async (key, fields) => {
    const answer = await create(fields);
    expect([answer.status, answer.body.validation?.keys]).toEqual([400, [key]]);
  });
});

it('a MULTI_STEP check needs a runtime that has such checks', async () => {
  const create = (type: string) =>
    harness.call('POST', `/v1/checks/${type}`, { name: 'Login', script, runtimeId: '2023.02' });
  expect((await create('browser')).status).toBe(201);
  const refused = await create('multistep');
  expect([refused.status, refused.body.validation.keys]).toEqual([400, ['runtimeId']]);
});
