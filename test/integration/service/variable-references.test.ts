import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { deployCommand, planCommand } from '../../../src/cli/deploy/deploy-command.ts';
import { exportCommand } from '../../../src/cli/deploy/export-command.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';

// Variables whose value is a secret of the location: the service knows its name and nothing else.
let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
  harness.startDeployments();
  await new TestAgent(harness, await createLocation(harness, 'lab')).claim();
});
afterAll(() => harness.close());

const create = (body: object) => harness.call('POST', '/v1/variables', body);
const change = (key: string, body: object) => harness.call('PUT', `/v1/variables/${key}`, body);

it('have no value of their own, at creation or later', async () => {
  const made = await create({ key: 'DB', value: '', valueFrom: 'SERVICE_SECRET_DB' });
  expect([made.status, made.body]).toEqual([
    201,
    expect.objectContaining({ key: 'DB', value: '', valueFrom: 'SERVICE_SECRET_DB', warnings: [] }),
  ]);
  for (const [body, keys] of [
    [{ key: 'X', value: 'x', valueFrom: 'SERVICE_SECRET_DB' }, ['value']],
    [{ key: 'X', value: '', valueFrom: 'API_KEY' }, ['valueFrom']],
    [{ key: 'X', value: '', valueFrom: 'SERVICE_SECRET_' }, ['valueFrom']],
    [{ key: 'X', value: '', valueFrom: `SERVICE_SECRET_${'x'.repeat(300)}` }, ['valueFrom']],
    [{ key: 'X', value: '', valueFrom: '' }, ['valueFrom']],
  ] as const) {
    const { status, body: refused } = await create(body);
    expect([status, refused.validation?.keys]).toEqual([400, keys]);
  }
  expect((await change('DB', { value: 'own' })).body.validation.keys).toEqual(['value']);
  expect((await change('DB', { valueFrom: null })).body.validation.keys).toEqual(['value']);
  // A body from a response can be written back.
  expect((await change('DB', made.body)).body.valueFrom).toBe('SERVICE_SECRET_DB');
  const own = await change('DB', { valueFrom: null, value: 'own' });
  expect(own.body).toMatchObject({ value: 'own', valueFrom: null });
  const again = await change('DB', { valueFrom: 'SERVICE_SECRET_OTHER' });
  expect(again.body).toMatchObject({ value: '', valueFrom: 'SERVICE_SECRET_OTHER' });
  expect((await harness.store.variables.find(harness.accountId, 'DB'))?.value).toBe('');
  expect((await harness.call('DELETE', '/v1/variables/DB')).status).toBe(204);
});

it('reach agents by name, unless the check has its own variable of the same key', async () => {
  const clock = new ManualClock();
  const own = await openHarness({ clock });
  own.startScheduler();
  const there = new TestAgent(own, await createLocation(own, 'branch'));
  for (const body of [
    { key: 'DB', value: '', valueFrom: 'SERVICE_SECRET_DB' },
    { key: 'TOKEN', value: '', valueFrom: 'SERVICE_SECRET_TOKEN', secret: true },
    { key: 'PLAIN', value: 'plain' },
  ]) {
    expect((await own.call('POST', '/v1/variables', body)).status).toBe(201);
  }
  await createCheck(own, {
    privateLocations: ['branch'],
    environmentVariables: [{ key: 'TOKEN', value: 'of-the-check' }],
  });
  clock.advance(60_000);
  const run = await until('a run', async () => {
    const [taken] = await there.claim();
    if (!taken) clock.advance(20);
    return taken;
  });
  expect(run).toMatchObject({
    variables: { PLAIN: 'plain', TOKEN: 'of-the-check' },
    valuesFrom: { DB: 'SERVICE_SECRET_DB' },
  });
  expect(Object.keys(run.variables)).not.toContain('DB');
  expect(Object.keys(run.valuesFrom)).toEqual(['DB']);
  await own.close();
});

it('do not move hidden values of checks to another host', async () => {
  const editor = await harness.addKey('READ_WRITE');
  await create({ key: 'HOST', value: '' });
  await harness.call('POST', '/v1/checks/api', {
    name: 'Login',
    privateLocations: ['lab'],
    request: {
      method: 'GET',
      url: 'https://api.example.com{{HOST}}/a',
      headers: [{ key: 'authorization', value: 'Bearer the-secret', locked: true }],
    },
  });
  const body = { value: '', valueFrom: 'SERVICE_SECRET_DB' };
  const { status } = await harness.call('PUT', '/v1/variables/HOST', body, { key: editor });
  expect(status).toBe(403);
  expect((await change('HOST', body)).status).toBe(200);
  const other = { value: '', valueFrom: 'SERVICE_SECRET_OTHER' };
  expect((await harness.call('PUT', '/v1/variables/HOST', other, { key: editor })).status).toBe(403);
});

it('are exported, planned and deployed as code', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'references-'));
  const url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  const apiOf = async () =>
    new ApiClient({ PICKET_URL: url, PICKET_API_KEY: (await harness.addAccount()).key });
  const [from, to] = [await apiOf(), await apiOf()];
  const project = join(folder, 'project');
  await exportCommand(from, project, {});
  const file = join(project, 'variables/db.yaml');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, 'key: DB\nvalue: ""\nvalueFrom: SERVICE_SECRET_DB\nsecret: true\n');
  const deployed = await deployCommand(from, project, { yes: true }, {});
  expect(deployed.json).toMatchObject({ deployment: { status: 'SUCCEEDED' } });
  expect((await planCommand(from, project, {}, {})).lines(80).join('\n')).toContain('No changes');
  const exported = join(folder, 'exported');
  const shown = await exportCommand(from, exported, {});
  expect(shown.lines(80).join('\n')).not.toContain('Values that are not exported');
  expect(await readFile(join(exported, 'variables/db.yaml'), 'utf8')).toContain(
    'valueFrom: SERVICE_SECRET_DB',
  );
  expect((await deployCommand(to, exported, { yes: true }, {})).json).toMatchObject({
    deployment: { status: 'SUCCEEDED' },
  });
  await writeFile(file, 'key: DB\nvalue: ""\nvalueFrom: SERVICE_SECRET_OTHER\nsecret: true\n');
  expect((await planCommand(from, project, {}, {})).lines(80).join('\n')).toContain('SERVICE_SECRET_OTHER');
  await writeFile(file, 'key: DB\nvalue: x\nvalueFrom: SERVICE_SECRET_OTHER\n');
  await expect(deployCommand(from, project, { yes: true }, {})).rejects.toThrow('valueFrom');
  await rm(folder, { recursive: true });
});

it('are edited in the browser', async () => {
  const visitor = await loggedIn(harness);
  const csrf = await visitor.csrf();
  const fields = { key: 'FORM', value: '', valueFrom: 'SERVICE_SECRET_DB' };
  const made = await visitor.post('/settings/variables/new', { csrf, ...fields });
  expect(made.headers['location']).toBe('/settings/variables/FORM/details');
  expect((await visitor.get('/settings/variables')).body).toContain('at the location');
  const page = (await visitor.get('/settings/variables/FORM/details')).body;
  expect(page).toContain('value="SERVICE_SECRET_DB"');
  const wrong = await visitor.post('/settings/variables/FORM/details', { csrf, ...fields, value: 'x' });
  expect(wrong.status).toBe(422);
  const own = await visitor.post('/settings/variables/FORM/details', { csrf, value: 'own', valueFrom: '' });
  expect(own.headers['location']).toBe('/settings/variables');
  expect((await harness.call('GET', '/v1/variables/FORM')).body).toMatchObject({
    value: 'own',
    valueFrom: null,
  });
});
