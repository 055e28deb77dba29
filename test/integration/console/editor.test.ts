import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTypes } from '../../../src/checks/index.ts';
import { formOf } from '../../helpers/console/editor-form.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
} from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

const hostile = `"><script>alert(1)</script>'&{{x}}`;
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
let harness: ServiceHarness;
let location: TestLocation;
let writer: Visitor;
let reader: Visitor;
beforeAll(async () => {
  harness = await openHarness({ clock });
  location = await createLocation(harness, 'lab');
  writer = await loggedIn(harness);
  reader = await loggedIn(harness, 'READ_ONLY');
});
afterAll(() => harness.close());

const typeNamed = (route: string) => checkTypes.find((type) => type.route === route)?.name ?? '';
const newForm = async (route: string) =>
  formOf((await writer.get(`/checks/new?type=${typeNamed(route)}`)).body);
const stored = async (id: string) => (await harness.call('GET', `/v1/checks/${id}`)).body;
const idIn = (path: string | undefined) => /[0-9a-f-]{36}/.exec(path ?? '')?.[0] ?? '';

describe('a new check', () => {
  it('is created from the input, at the only location', async () => {
    const fields = {
      ...(await newForm('url')),
      name: hostile,
      'request.url': 'https://shop.test/',
      frequency: '0/20',
    };
    const { status, headers } = await writer.post('/checks/new', fields);
    expect(status).toBe(303);
    const check = await stored(idIn(headers['location']));
    expect(check).toMatchObject({
      name: hostile,
      privateLocations: ['lab'],
      frequency: 0,
      frequencyOffset: 20,
      request: { url: 'https://shop.test/' },
    });
    const page = await writer.get(`/checks/${check.id}/edit`);
    expect(page.body).not.toContain('<script>alert');
    expect(formOf(page.body)['name']).toBe(hostile);
  });

  it('is refused with errors at their fields, and keeps the input', async () => {
    const fields: Record<string, string> = {
      ...(await newForm('url')),
      name: '',
      'request.url': 'ftp://x',
      tags: 'a\r\nb',
    };
    const { privateLocations: _none, ...placeless } = fields;
    const { status, body } = await writer.post('/checks/new', placeless);
    expect(status).toBe(422);
    expect(body).toMatch(/#field-privateLocations[\s\S]*without a location the check never runs/);
    expect(body).toMatch(/#field-request-url[\s\S]*Must start with http/);
    expect(body).toMatch(/id="field-request-url-error"/);
    expect(formOf(body)).toMatchObject({ 'request.url': 'ftp://x', tags: 'a\r\nb\r\n' });
  });

  it('gets and loses rows by buttons, without being saved', async () => {
    const before = (await harness.call('GET', '/v1/checks')).body.length;
    const fields = await newForm('url');
    const added = await writer.post('/checks/new', { ...fields, $do: 'add request.assertions' });
    expect(added.status).toBe(200);
    const withRow = formOf(added.body);
    expect(withRow['request.assertions.0.source']).toBe('STATUS_CODE');
    const typed = { ...withRow, 'request.assertions.0.target': '201' };
    const two = formOf((await writer.post('/checks/new', { ...typed, $do: 'add request.assertions' })).body);
    const one = formOf(
      (await writer.post('/checks/new', { ...two, $do: 'remove request.assertions 0' })).body,
    );
    expect(two['request.assertions.0.target']).toBe('201');
    expect(one['request.assertions.0.target']).toBe('');
    expect(one['request.assertions.1.target']).toBeUndefined();
    expect((await harness.call('GET', '/v1/checks')).body.length).toBe(before);
  });

  it('is filled in from a curl command', async () => {
    const csrf = await writer.csrf('/checks/new');
    const $curl = `curl -X PUT https://shop.test/cart -H 'Authorization: Bearer t' -d '{"a":1}' -H 'content-type: application/json'`;
    const { body } = await writer.post('/checks/new', { csrf, $type: typeNamed('api'), $do: 'curl', $curl });
    const fields = formOf(body);
    expect(fields).toMatchObject({ name: 'shop.test', 'request.method': 'PUT', 'request.body': '{"a":1}' });
    const made = await writer.post('/checks/new', { ...fields, $do: 'save' });
    const check = await stored(idIn(made.headers['location']));
    expect(check.request.headers).toContainEqual({ key: 'Authorization', value: '', locked: true });
    const wrong = await writer.post('/checks/new', { ...fields, $do: 'curl', $curl: 'curl -F a=@b x' });
    expect(wrong.body).toMatch(/id="field-curl-error">[^<]*multipart forms/);
    expect(formOf(wrong.body)['request.method']).toBe('PUT');
  });

  it.each(checkTypes.map(({ name }) => name))('has a form for %s', async (name) => {
    const { status, body } = await writer.get(`/checks/new?type=${name}`);
    expect(status).toBe(200);
    expect(formOf(body)['name']).toBe('');
  });
});

describe('an existing check', () => {
  it('is not written without changes, and only where it changed', async () => {
    const { id } = await createCheck(harness, { name: 'one', privateLocations: ['lab'], tags: ['b', 'a'] });
    const fields = formOf((await writer.get(`/checks/${id}/edit`)).body);
    expect((await writer.post(`/checks/${id}/edit`, fields)).status).toBe(303);
    expect((await stored(id)).updated_at).toBeNull();
    clock.advance(1_000);
    await writer.post(`/checks/${id}/edit`, { ...fields, name: 'two' });
    expect(await stored(id)).toMatchObject({ name: 'two', tags: ['b', 'a'] });
  });

  it('that another user changed meanwhile is not overwritten unseen', async () => {
    const { id } = await createCheck(harness, { name: 'one', privateLocations: ['lab'] });
    const fields = formOf((await writer.get(`/checks/${id}/edit`)).body);
    clock.advance(1_000);
    await harness.call('PUT', `/v1/checks/${id}`, { name: 'theirs', description: 'why' });
    const refused = await writer.post(`/checks/${id}/edit`, { ...fields, name: 'mine' });
    expect(refused.status).toBe(409);
    expect(refused.body).toMatch(
      /Another user changed this[\s\S]*<b>name<\/b> is stored as <code>&quot;theirs/,
    );
    expect(formOf(refused.body)['name']).toBe('mine');
    expect((await stored(id)).name).toBe('theirs');
    expect((await writer.post(`/checks/${id}/edit`, formOf(refused.body))).status).toBe(303);
    expect((await stored(id)).name).toBe('mine');
  });

  it('that was deleted meanwhile can be created again from the input', async () => {
    const { id } = await createCheck(harness, { name: 'gone', privateLocations: ['lab'] });
    const fields = formOf((await writer.get(`/checks/${id}/edit`)).body);
    await harness.call('DELETE', `/v1/checks/${id}`);
    const { status, body } = await writer.post(`/checks/${id}/edit`, { ...fields, name: 'back' });
    expect(status).toBe(200);
    expect(body).toContain('was deleted after you opened it');
    const made = await writer.post('/checks/new', formOf(body));
    expect((await stored(idIn(made.headers['location']))).name).toBe('back');
  });

  it('keeps hidden values, and requests them again if they would be lost', async () => {
    const environmentVariables = [{ key: 'PASSWORD', value: 'swordfish', locked: true }];
    const { id } = await createCheck(harness, {
      name: 'secret',
      privateLocations: ['lab'],
      environmentVariables,
    });
    const page = (await writer.get(`/checks/${id}/edit`)).body;
    expect(page).not.toContain('swordfish');
    const fields = formOf(page);
    const renamed = await writer.post(`/checks/${id}/edit`, {
      ...fields,
      'environmentVariables.0.key': 'PASS',
    });
    expect(renamed.body).toMatch(/#field-environmentVariables-0-value[\s\S]*entered again/);
    clock.advance(1_000);
    await writer.post(`/checks/${id}/edit`, { ...fields, name: 'renamed' });
    const [row] = [...(await harness.store.checks.findMany([id])).values()];
    expect(row?.definition['environmentVariables']).toMatchObject([{ value: 'swordfish' }]);
    const copy = formOf((await writer.get(`/checks/new?from=${id}`)).body);
    expect(copy['name']).toBe('Copy of renamed');
    expect((await writer.post('/checks/new', copy)).body).toMatch(/entered again/);
  });

  it('is deactivated, activated, and deleted', async () => {
    const { id } = await createCheck(harness, { name: 'one', privateLocations: ['lab'] });
    const csrf = await writer.csrf();
    await writer.post(`/checks/${id}/activated`, { csrf, activated: 'false' });
    expect((await stored(id)).activated).toBe(false);
    expect((await writer.get(`/checks/${id}/edit`)).body).toContain('Resume');
    await writer.post(`/checks/${id}/delete`, { csrf });
    expect((await writer.get(`/checks/${id}/edit`)).status).toBe(404);
  });
});

describe('trying', () => {
  it('runs the input, saves nothing, and shows the result next to the form', async () => {
    const fields = {
      ...(await newForm('url')),
      name: '',
      'request.url': 'https://shop.test/',
      $tryAt: 'lab',
    };
    const agent = new TestAgent(harness, location);
    await agent.claim();
    const tried = await writer.post('/checks/new', { ...fields, $do: 'try' });
    expect(tried.body).toContain('In progress');
    const session = formOf(tried.body)['$try'] ?? '';
    // Runs of other tests' checks may be due, too.
    const run = (await agent.claim()).find(({ isTestSession }) => isTestSession);
    expect(run).toMatchObject({
      check: { spec: { request: { url: 'https://shop.test/' } } },
    });
    if (run) expect(await agent.report([reportOf(run)])).toEqual(['accepted']);
    const again = await writer.get(`/tries/${session}`);
    expect(again.body).toContain('Passed in');
    const [, href = ''] = /href="(\/sessions\/tests\/[^"]+)"/.exec(again.body) ?? [];
    expect((await writer.get(href)).body).toContain('Passed in');
    const list = await reader.get(`/sessions/tests/${session}`);
    expect(list.body).toContain(href);
    expect(list.body).not.toContain(`href="/checks/${run?.check.id}"`);
  });

  it('reports errors in the input', async () => {
    const fields = { ...(await newForm('url')), 'request.url': 'nowhere', $tryAt: 'lab', $do: 'try' };
    const { status, body } = await writer.post('/checks/new', fields);
    expect(status).toBe(422);
    expect(body).toMatch(/id="field-request-url-error"/);
    const place = await writer.post('/checks/new', {
      ...fields,
      'request.url': 'https://a.test',
      $tryAt: 'mars',
    });
    expect(place.body).toMatch(/Names no private location/);
  });
});

describe('a group', () => {
  it('is created, edited by one user at a time, and deleted once it is empty', async () => {
    const fields = { ...formOf((await writer.get('/groups/new')).body), name: hostile, tags: 'shop' };
    expect((await writer.post('/groups/new', fields)).headers['location']).toBe('/groups');
    const [group] = (await harness.call('GET', '/v1/check-groups')).body;
    expect(group).toMatchObject({ name: hostile, tags: ['shop'], retryStrategy: 'FALLBACK' });
    const here = `/groups/${group.id}`;
    const page = formOf((await writer.get(`${here}/edit`)).body);
    expect((await writer.post(`${here}/edit`, page)).status).toBe(303);
    const stands = async () => (await harness.call('GET', `/v1/check-groups/${group.id}`)).body;
    expect((await stands()).updated_at).toBeNull();
    clock.advance(1_000);
    await harness.call('PUT', `/v1/check-groups/${group.id}`, { name: 'theirs' });
    const refused = await writer.post(`${here}/edit`, { ...page, name: 'mine' });
    expect(refused.status).toBe(409);
    expect((await writer.post(`${here}/edit`, formOf(refused.body))).status).toBe(303);
    expect((await stands()).name).toBe('mine');
    const check = await createCheck(harness, { groupId: group.id, privateLocations: ['lab'] });
    const csrf = await writer.csrf();
    expect((await writer.post(`${here}/delete`, { csrf })).body).toContain('has checks');
    await harness.call('DELETE', `/v1/checks/${check.id}`);
    expect((await writer.post(`${here}/delete`, { csrf })).status).toBe(303);
    expect((await reader.get('/groups')).body).not.toContain('New group');
    expect((await reader.get('/groups/new')).status).toBe(403);
  });
});

describe('a user without write access', () => {
  it('is offered nothing, and refused', async () => {
    const { id } = await createCheck(harness, { name: 'one', privateLocations: ['lab'] });
    expect((await reader.get('/')).body).not.toContain('/checks/new');
    expect((await reader.get(`/checks/${id}`)).body).not.toContain('/edit');
    for (const path of ['/checks/new', `/checks/${id}/edit`])
      expect((await reader.get(path)).status).toBe(403);
    const csrf = await reader.csrf();
    for (const path of [
      '/checks/new',
      `/checks/${id}/edit`,
      `/checks/${id}/activated`,
      `/checks/${id}/delete`,
    ]) {
      expect((await reader.post(path, { csrf })).status).toBe(403);
    }
    const stranger = await loggedIn(harness, undefined, (await harness.addAccount()).key);
    expect((await stranger.get(`/checks/${id}/edit`)).status).toBe(404);
    expect((await stranger.get(`/checks/new?from=${id}`)).status).toBe(404);
  });
});

it.each([
  ['10,000 letters', 'x'.repeat(10_000), /at most 255/],
  ['a NUL', 'a\u0000b', /./],
] as const)('a name of %s is refused and shown again', async (_what, name, words) => {
  const fields = { ...(await newForm('url')), name, 'request.url': 'https://a.test' };
  const { status, body } = await writer.post('/checks/new', fields);
  expect(status).toBe(422);
  expect(body).toMatch(words);
});
