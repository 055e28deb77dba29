import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTypes, findCheckType } from '../../../src/checks/index.ts';
import { checkPlan } from '../../../src/console/editor/sections.ts';
import { formOf, plainText } from '../../helpers/console/editor-form.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

const clock = new ManualClock(Date.UTC(2026, 10, 28, 12));
let harness: ServiceHarness;
let agent: TestAgent;
let writer: Visitor;
beforeAll(async () => {
  harness = await openHarness({ clock });
  const location = await createLocation(harness, 'lab');
  await createLocation(harness, 'empty');
  agent = new TestAgent(harness, location);
  await agent.claim();
  writer = await loggedIn(harness);
});
afterAll(() => harness.close());

const newForm = async (type: string) => formOf((await writer.get(`/checks/new?type=${type}`)).body);
const stored = async (id: string) => (await harness.call('GET', `/v1/checks/${id}`)).body;
const idIn = (path: string | undefined) => /[0-9a-f-]{36}/.exec(path ?? '')?.[0] ?? '';

/** The folds of a form, with what is set in each. */
function folds(body: string): Record<string, string> {
  const found = body.matchAll(
    /class="topic" id="topic-(\w+)"( open)?><summary><span[^>]*>[^<]*<\/span> <span class="topic-set">([^<]*)/g,
  );
  return Object.fromEntries(
    [...found].map(([, name = '', open, set = '']) => [name, `${open ? 'open: ' : ''}${set}`]),
  );
}

describe.each(checkTypes.map((type) => [type.name, type] as const))('the form of %s', (_name, type) => {
  const [first, ...others] = checkPlan(type).sections;
  const keys = first?.fields.map(({ pattern }) => pattern) ?? [];

  it('has the required fields of the type, the name and the channels on its first level', () => {
    expect(first?.topic).toBe('first');
    expect(keys).toContain('name');
    expect(keys).toContain('alertChannelSubscriptions');
    expect(keys.includes('privateLocations')).toBe(!type.pings);
    const { issues = [] } =
      type.spec.safeParse({ request: { sslConfig: {}, grpcConfig: {} }, heartbeat: {} }).error ?? {};
    const missing = issues.flatMap(({ code, path }) => (code === 'invalid_type' ? [path.join('.')] : []));
    expect(missing.filter((path) => !keys.includes(path))).toEqual([]);
  });

  it('has the topics of its fields below, and no empty one', () => {
    for (const { fields } of others) expect(fields.some(({ kind }) => kind !== 'fixed')).toBe(true);
    expect(others.some(({ topic }) => topic === 'schedule')).toBe(!type.pings);
    expect(others.some(({ topic }) => topic === 'assertions')).toBe('request' in type.spec.shape);
  });
});

describe('the first level', () => {
  it('starts with the locations that have agents, and offers no region', async () => {
    const { body } = await writer.get('/checks/new?type=URL');
    expect(formOf(body)).toMatchObject({ privateLocations: 'lab' });
    expect(body).not.toContain('us-east-1');
    const { id } = await createCheck(harness, {
      name: 'moved',
      locations: ['us-east-1'],
      privateLocations: ['lab'],
    });
    const edit = (await writer.get(`/checks/${id}/edit`)).body;
    expect(edit).toContain('us-east-1');
    expect(edit).not.toContain('eu-west-1');
  });

  it('completes a URL and names the check after it', async () => {
    const fields = { ...(await newForm('URL')), 'request.url': ' shop.test/cart/ ' };
    const { status, headers } = await writer.post('/checks/new', fields);
    expect(status).toBe(303);
    expect(await stored(idIn(headers['location']))).toMatchObject({
      name: 'shop.test/cart',
      request: { url: 'https://shop.test/cart/' },
    });
    const socket = {
      ...(await newForm('WEBSOCKET')),
      'request.url': 'live.test:8443/feed',
      $do: 'add request.steps',
    };
    const typed = formOf((await writer.post('/checks/new', socket)).body);
    expect(typed).toMatchObject({ 'request.url': 'wss://live.test:8443/feed', name: '' });
  });

  it.each([
    ['TCP', { 'request.hostname': 'db.test', 'request.port': '5432' }, 'db.test'],
    [
      'BROWSER',
      { script: "import { test } from '@playwright/test';\ntest('Log in', async () => {});" },
      'Log in',
    ],
    ['AGENTIC', { prompt: 'Open https://a.test/.\nIt greets.' }, 'Open https://a.test/.'],
  ] as const)('names a check of the type %s after its target', async (type, target, name) => {
    const { headers } = await writer.post('/checks/new', { ...(await newForm(type)), ...target });
    expect((await stored(idIn(headers['location']))).name).toBe(name);
  });

  it('has defaults for a heartbeat, which needs only a name', async () => {
    const { headers } = await writer.post('/checks/new', { ...(await newForm('HEARTBEAT')), name: 'backup' });
    expect(await stored(idIn(headers['location']))).toMatchObject({
      heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' },
    });
  });
});

describe('the login of a request', () => {
  it('is one field, which can change its scheme; the older field is shown only where it is set', async () => {
    const form = await newForm('API');
    expect(form).toMatchObject({ 'request.auth': '', 'request.auth.username': '' });
    for (const name of ['request.auth.type', 'request.basicAuth']) expect(form).not.toHaveProperty([name]);
    const login = {
      ...{ 'request.url': 'https://intra.test/', 'request.auth': 'DIGEST' },
      ...{ 'request.auth.username': 'ada', 'request.auth.password': 'lovelace' },
    };
    const made = await writer.post('/checks/new', { ...form, ...login });
    const id = idIn(made.headers['location']);
    const auth = { type: 'DIGEST', username: 'ada', password: '', domain: '' };
    expect((await stored(id)).request).toMatchObject({ auth, basicAuth: null });
    const shown = formOf((await writer.get(`/checks/${id}/edit`)).body);
    expect(shown).toMatchObject({ 'request.auth': 'DIGEST', 'request.auth.username': 'ada' });
    const other = { ...shown, 'request.auth': 'NEGOTIATE' };
    const refused = await writer.post(`/checks/${id}/edit`, other);
    expect(plainText(refused.body)).toContain('Must be empty for NEGOTIATE');
    await writer.post(`/checks/${id}/edit`, { ...other, 'request.auth.username': '' });
    expect((await stored(id)).request.auth).toMatchObject({ type: 'NEGOTIATE', username: '' });
    const basicAuth = { username: 'u', password: 'p' };
    const older = await harness.call('POST', '/v1/checks/api', {
      ...{ name: 'older', request: { url: 'https://a.test/', basicAuth } },
    });
    const { body } = await writer.get(`/checks/${older.body.id}/edit`);
    expect(formOf(body)).toMatchObject({ 'request.basicAuth': 'object' });
  });
});

describe('topics', () => {
  it('say what is set in them, and open for problems and their own buttons', async () => {
    const { id } = await createCheck(harness, {
      name: 'set',
      privateLocations: ['lab'],
      tags: ['shop', 'prod'],
      muted: true,
      request: { url: 'https://a.test/', followRedirects: false },
      degradedResponseTime: 1_000,
    });
    const { body } = await writer.get(`/checks/${id}/edit`);
    expect(folds(body)).toMatchObject({
      request: 'Follow redirects: off',
      assertions: 'defaults',
      limits: 'Degraded over: 1000',
      alerts: 'Muted: send no notifications',
      grouping: 'Tags: shop, prod',
    });
    const fields = formOf(body);
    const added = await writer.post(`/checks/${id}/edit`, { ...fields, $do: 'add request.assertions' });
    expect(folds(added.body)['assertions']).toBe('open: 1 assertion');
    const refused = await writer.post(`/checks/${id}/edit`, { ...fields, maxResponseTime: 'soon' });
    expect(folds(refused.body)['limits']).toMatch(/^open/);
  });

  it('have tags as chips, with the tags of the account as suggestions', async () => {
    const { id } = await createCheck(harness, {
      name: 'tagged',
      privateLocations: ['lab'],
      tags: ['a, b', 'c'],
    });
    const { body } = await writer.get(`/checks/${id}/edit`);
    expect(body).toMatch(/<datalist id="field-tags-list">[\s\S]*<option value="shop">/);
    const fields = formOf(body);
    await writer.post(`/checks/${id}/edit`, fields);
    expect((await stored(id)).updated_at).toBeNull();
    await writer.post(`/checks/${id}/edit`, { ...fields, tags: `a, b\r\nnew` });
    expect((await stored(id)).tags).toEqual(['a, b', 'new']);
  });

  it('have dependencies by name, found by a search', async () => {
    const { id: parent } = await createCheck(harness, {
      name: 'the <b>router</b>',
      privateLocations: ['lab'],
    });
    const { id } = await createCheck(harness, { name: 'behind the router', privateLocations: ['lab'] });
    const fields = formOf((await writer.get(`/checks/${id}/edit`)).body);
    const found = await writer.post(`/checks/${id}/edit`, {
      ...fields,
      '$find.parentCheckIds': 'ROUTER',
      $do: 'find parentCheckIds',
    });
    expect(folds(found.body)['grouping']).toMatch(/^open/);
    const list = /class="boxes found">([\s\S]*?)<\/ul>/.exec(found.body)?.[1] ?? '';
    expect(list).toContain(parent);
    expect(list).toContain('the &lt;b&gt;router');
    expect(list).not.toContain(id);
    await writer.post(`/checks/${id}/edit`, { ...formOf(found.body), parentCheckIds: parent, $do: 'save' });
    expect((await stored(id)).parentCheckIds).toEqual([parent]);
    const edit = (await writer.get(`/checks/${id}/edit`)).body;
    expect(formOf(edit)['parentCheckIds']).toBe(parent);
    expect(folds(edit)['grouping']).toContain('Depends on: the &lt;b&gt;router');
  });

  it('have runtimes with their stages', async () => {
    expect((await writer.get('/checks/new?type=BROWSER')).body).toMatch(
      />2026\.04: Node\.js [\d.]+, current</,
    );
  });
});

describe('a saved check', () => {
  it('runs at once, and its page shows the run', async () => {
    const { headers } = await writer.post('/checks/new', {
      ...(await newForm('URL')),
      'request.url': 'https://now.test',
    });
    const page = await writer.get(headers['location'] ?? '');
    expect(page.body).toContain('Saved. Running now at lab.');
    expect(page.body).toContain('The run is in progress.');
    const runs = await agent.claim();
    const id = idIn(headers['location']);
    expect(runs.filter(({ check }) => check.id === id)).toHaveLength(1);
  });

  it('does not run while it is paused, or if no agent can run it', async () => {
    const fields: Record<string, string> = {
      ...(await newForm('URL')),
      'request.url': 'https://later.test',
    };
    const { activated: _on, ...paused } = fields;
    const off = await writer.post('/checks/new', paused);
    expect(off.headers['location']).toMatch(/^\/checks\/[0-9a-f-]{36}$/);
    expect((await writer.get(off.headers['location'] ?? '')).body).toContain('>Saved.<');
    const { headers } = await writer.post('/checks/new', { ...fields, privateLocations: 'empty' });
    expect(headers['location']).toMatch(/^\/checks\/[0-9a-f-]{36}$/);
    expect((await writer.get(headers['location'] ?? '')).body).toMatch(
      /class="toast"[^>]*>Saved\. No agent can run/,
    );
  });
});

describe('a test run', () => {
  it('gives assertions by a click', async () => {
    const fields = { ...(await newForm('API')), 'request.url': 'https://shop.test/', $tryAt: 'lab' };
    const tried = formOf((await writer.post('/checks/new', { ...fields, $do: 'try' })).body);
    const run = (await agent.claim()).find(({ isTestSession }) => isTestSession);
    const text = '{"items":[{"id":5,"<b>":"x"}],"none":null}';
    if (run) await agent.report([reportOf(run, { detail: httpDetail({ text }) })]);
    const panel = (await writer.get(`/tries/${tried['$try']}?form=%2Fchecks%2Fnew`)).body;
    const offers = [...panel.matchAll(/value="assert ([^"]*)"/g)].map(([, one = '']) =>
      Object.fromEntries(new URLSearchParams(plainText(one))),
    );
    expect(offers).toEqual(
      expect.arrayContaining([
        { source: 'STATUS_CODE', property: '', comparison: 'EQUALS', target: '200' },
        { source: 'RESPONSE_TIME', property: '', comparison: 'LESS_THAN', target: '100' },
        { source: 'HEADERS', property: 'x-said', comparison: 'EQUALS', target: text },
        { source: 'JSON_BODY', property: '$.items[0].id', comparison: 'EQUALS', target: '5' },
        { source: 'JSON_BODY', property: "$.items[0]['<b>']", comparison: 'EQUALS', target: 'x' },
        { source: 'JSON_BODY', property: '$.none', comparison: 'IS_NULL', target: '' },
      ]),
    );
    const chosen = { ...tried, $do: `assert ${new URLSearchParams(offers[0])}` };
    const added = await writer.post('/checks/new', chosen);
    expect(folds(added.body)['assertions']).toBe('open: 1 assertion');
    expect(formOf(added.body)).toMatchObject({
      'request.assertions.0.source': 'STATUS_CODE',
      'request.assertions.0.target': '200',
      $try: tried['$try'],
    });
    // The same value is not added twice, and nonsense adds nothing that is not typed.
    const again = await writer.post('/checks/new', { ...formOf(added.body), $do: chosen.$do });
    expect(folds(again.body)['assertions']).toBe('open: 1 assertion');
    expect((await writer.post('/checks/new', { ...tried, $do: 'assert nonsense' })).status).toBe(200);
    // A page of its own has no form around it.
    const alone = (await writer.get(`/tries/${tried['$try']}?form=https://evil.test/`)).body;
    expect(alone).not.toContain('assert ');
    expect(alone).not.toContain('hx-post="https');
  });

  it('offers a URL monitor only assertions that it accepts', async () => {
    const fields = { ...(await newForm('URL')), 'request.url': 'https://shop.test/', $tryAt: 'lab' };
    const tried = formOf((await writer.post('/checks/new', { ...fields, $do: 'try' })).body);
    const run = (await agent.claim()).find(({ isTestSession }) => isTestSession);
    if (run) await agent.report([reportOf(run, { detail: httpDetail() })]);
    const panel = (await writer.get(`/tries/${tried['$try']}?form=%2Fchecks%2Fnew`)).body;
    expect([...panel.matchAll(/value="assert /g)]).toHaveLength(1);
  });
});

describe('a template', () => {
  it('fills the script, unless something else is typed there', async () => {
    const fields = await newForm('BROWSER');
    const [template, other] = findCheckType('BROWSER')?.templates ?? [];
    const use = (form: Record<string, string>, title: string | undefined) =>
      writer.post('/checks/new', { ...form, $do: 'template', $template: title ?? '' });
    const filled = formOf((await use(fields, template?.title)).body);
    expect(filled['script']?.replaceAll('\r\n', '\n')).toBe(template?.fields['script']);
    expect(formOf((await use(filled, other?.title)).body)['script']).toContain('Log in');
    const kept = await use({ ...filled, script: 'mine' }, other?.title);
    expect(kept.body).toContain('would replace what you typed');
    expect(formOf(kept.body)['script']).toBe('mine');
  });
});

describe('a suite', () => {
  const upload = (content: Buffer, csrf: string, visitor = writer) =>
    harness.app.inject({
      method: 'POST',
      url: '/checks/bundles',
      headers: {
        cookie: visitor.cookieHeader(),
        'content-type': 'application/gzip',
        'sec-fetch-site': 'same-origin',
        'x-csrf': csrf,
      },
      payload: content,
    });

  it('is uploaded in the page, and chosen from those of the account', async () => {
    const csrf = await writer.csrf();
    const content = gzipSync('a suite');
    const answer = await upload(content, csrf);
    const key = `${createHash('sha256').update(content).digest('hex')}-${content.length}`;
    expect(answer.json()).toMatchObject({ key });
    expect((await harness.call('GET', '/v1/code-bundles')).body).toEqual([
      {
        key,
        contentLength: content.length,
        checksumSha256: key.split('-')[0],
        created_at: new Date(clock.wallMs()).toISOString(),
      },
    ]);
    const { body } = await writer.get('/checks/new?type=PLAYWRIGHT');
    expect(body).toContain(`<option value="${key}">`);
    const fields = { ...formOf(body), name: 'suite', codeBundlePath: key };
    const { headers } = await writer.post('/checks/new', fields);
    expect(await stored(idIn(headers['location']))).toMatchObject({ codeBundlePath: key });
    const stranger = await loggedIn(harness, undefined, (await harness.addAccount()).key);
    expect((await stranger.get('/checks/new?type=PLAYWRIGHT')).body).not.toContain(key);
  });

  it('is refused if it is none, without the token of the session, and from a reader', async () => {
    const csrf = await writer.csrf();
    const refused = await upload(Buffer.from('no gzip'), csrf);
    expect(refused.json()).toMatchObject({ message: expect.stringContaining('not gzip') });
    expect(refused.statusCode).toBe(400);
    expect((await upload(gzipSync('a'), 'wrong')).statusCode).toBe(403);
    const reader = await loggedIn(harness, 'READ_ONLY');
    expect((await upload(gzipSync('a'), await reader.csrf(), reader)).statusCode).toBe(403);
  });
});
