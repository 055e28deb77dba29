import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readAssets } from '../../../src/console/assets.ts';
import { pages } from '../../../src/console/registry.ts';
import type { KeyRole } from '../../../src/platform/ids/keys.ts';
import { createCheck, openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { Visitor } from '../../helpers/service/visitor.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

describe('logging in', () => {
  it('accepts an API key, keeps it out of every response, and redirects to the requested page', async () => {
    const visitor = new Visitor(harness.app);
    const asked = await visitor.get('/?q=shop');
    expect(asked.status).toBe(303);
    expect(asked.headers['location']).toBe('/login?next=%2F%3Fq%3Dshop');
    const form = await visitor.get(asked.headers['location'] ?? '');
    expect(form.body).toContain('API key');
    const answer = await visitor.post('/login', { key: harness.key, next: '/?q=shop' });
    expect(answer.status).toBe(303);
    expect(answer.headers['location']).toBe('/?q=shop');
    expect(answer.headers['set-cookie']).toMatch(
      /^picket-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
    );
    const page = await visitor.get('/');
    expect(page.status).toBe(200);
    expect(page.body + answer.body).not.toContain(harness.key);
  });

  it('responds equally to every wrong key, and stops those who guess', async () => {
    const visitor = new Visitor(harness.app, { address: '203.0.113.9' });
    const answers = [];
    for (let guess = 0; guess < 11; guess += 1) {
      answers.push(await visitor.post('/login', { key: `ak_${guess}`.padEnd(35, '0') }));
    }
    expect(answers.slice(0, 10).map(({ status }) => status)).toEqual(Array(10).fill(422));
    expect(answers.at(-1)?.status).toBe(429);
    expect(answers.at(-1)?.body).toContain('Too many requests');
    expect(new Set(answers.slice(0, 10).map(({ body }) => body.length)).size).toBe(1);
  });

  it.each([
    '//evil.example/',
    'https://evil.example/',
    '/\\evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    '/%0d%0aLocation:%20https://evil.example',
  ])('never redirects to another site: %s', async (next) => {
    const visitor = new Visitor(harness.app, { address: '203.0.113.10' });
    const { headers } = await visitor.post('/login', { key: harness.key, next });
    expect(new URL(headers['location'] ?? '', 'http://own.test').host).toBe('own.test');
    expect(headers['location']).not.toMatch(/[\r\n]/);
  });

  it("gives a session a new token instead of the visitor's", async () => {
    const visitor = new Visitor(harness.app, { address: '203.0.113.11' });
    visitor.cookies.set('picket-session', 'fixed-by-somebody-else');
    await visitor.post('/login', { key: harness.key });
    expect(visitor.cookies.get('picket-session')).not.toBe('fixed-by-somebody-else');
    expect((await visitor.get('/')).status).toBe(200);
  });

  it('ends with its key, and by logging out', async () => {
    const visitor = await loggedIn('203.0.113.12');
    const token = visitor.cookies.get('picket-session') ?? '';
    await visitor.post('/logout', { csrf: await visitor.csrf() });
    visitor.cookies.set('picket-session', token);
    expect((await visitor.get('/')).status).toBe(303);

    const key = await harness.addKey('READ_ONLY');
    const other = new Visitor(harness.app, { address: '203.0.113.13' });
    await other.post('/login', { key });
    expect((await other.get('/')).status).toBe(200);
    const row = (await harness.store.accounts.keys(harness.accountId)).at(-1);
    await harness.store.accounts.deleteKey(row?.id ?? '');
    expect((await other.get('/')).status).toBe(303);
  });

  it('marks cookies as secure behind TLS', async () => {
    const secure = await openHarness({ trustedProxies: ['127.0.0.1'] });
    try {
      const visitor = new Visitor(secure.app, { headers: { 'x-forwarded-proto': 'https' } });
      const { headers } = await visitor.post('/login', { key: secure.key });
      expect(headers['set-cookie']).toMatch(/^__Host-picket-session=.*; Secure$/);
      expect((await visitor.get('/')).status).toBe(200);
    } finally {
      await secure.close();
    }
  });
});

describe('login links', () => {
  const makeLink = async () => {
    const { body } = await harness.call('POST', '/login/links');
    return body.path as string;
  };

  it('log this machine in, once', async () => {
    const path = await makeLink();
    const visitor = new Visitor(harness.app);
    const first = await visitor.get(path);
    expect([first.status, first.headers['location']]).toEqual([303, '/']);
    expect((await visitor.get('/')).status).toBe(200);
    const second = await new Visitor(harness.app).get(path);
    expect(second.status).toBe(422);
    expect(second.body).toContain('was already used');
  });

  it('are created and used on this machine only', async () => {
    const path = await makeLink();
    const elsewhere = new Visitor(harness.app, { address: '203.0.113.20' });
    expect((await elsewhere.get(path)).status).toBe(422);
    const proxied = new Visitor(harness.app, { headers: { 'x-forwarded-for': '203.0.113.20' } });
    expect((await proxied.get(path)).status).toBe(422);
    const asked = await harness.app.inject({
      method: 'POST',
      url: '/login/links',
      remoteAddress: '203.0.113.20',
      headers: { authorization: `Bearer ${harness.key}` },
    });
    expect(asked.statusCode).toBe(403);
  });

  it('need an existing key', async () => {
    const answer = await harness.call('POST', '/login/links', undefined, { key: 'ak_unknown' });
    expect(answer.status).toBe(401);
  });
});

describe('forms', () => {
  it('are refused without the token of the session, from another site, and with the token of another session', async () => {
    const visitor = await loggedIn('203.0.113.30');
    const other = await loggedIn('203.0.113.31');
    const csrf = await visitor.csrf();
    expect((await visitor.post('/logout', {})).status).toBe(403);
    expect((await visitor.post('/logout', { csrf: await other.csrf() })).status).toBe(403);
    expect((await visitor.post('/logout', { csrf: `${csrf.slice(0, -1)}~` })).status).toBe(403);
    const foreign = { headers: { 'sec-fetch-site': 'cross-site' } };
    expect((await visitor.post('/logout', { csrf }, foreign)).status).toBe(403);
    const elsewhere = { headers: { 'sec-fetch-site': '', origin: 'https://evil.example' } };
    expect((await visitor.post('/logout', { csrf }, elsewhere)).status).toBe(403);
    expect((await visitor.get('/')).status).toBe(200);
    expect((await visitor.post('/logout', { csrf })).status).toBe(303);
  });
});

describe('messages about what a form did', () => {
  it('are shown by the next page, once, and escaped', async () => {
    const visitor = await loggedIn('203.0.113.60');
    const text = '<b>Saved.</b>';
    visitor.cookies.set('picket-toast', Buffer.from(text).toString('base64url'));
    const { body, headers } = await visitor.get('/');
    expect(body).toContain('role="status" data-sent>&lt;b&gt;Saved.&lt;/b&gt;</p>');
    expect(headers['set-cookie']).toMatch(/^picket-toast=; .*Max-Age=0/);
    expect((await visitor.get('/')).body).not.toContain('data-sent');
  });
});

describe('roles', () => {
  it('are offered what they may do, and refused the rest with a message', async () => {
    const check = await createCheck(harness, { name: 'to be run' });
    const visit = async (role: KeyRole, address: string) => {
      const visitor = new Visitor(harness.app, { address });
      await visitor.post('/login', { key: await harness.addKey(role) });
      return visitor;
    };
    const reader = await visit('READ_ONLY', '203.0.113.50');
    expect((await reader.get(`/checks/${check.id}`)).body).not.toContain('Run now');
    const refused = await reader.post(`/checks/${check.id}/run`, { csrf: await reader.csrf() });
    expect(refused.status).toBe(403);
    expect(refused.body).toContain('needs the role READ_RUN');
    const runner = await visit('READ_RUN', '203.0.113.51');
    expect((await runner.get(`/checks/${check.id}`)).body).toContain('Run now');
    const other = await harness.addAccount();
    const stranger = new Visitor(harness.app, { address: '203.0.113.52' });
    await stranger.post('/login', { key: other.key });
    expect((await stranger.get(`/checks/${check.id}`)).status).toBe(404);
    expect((await stranger.get('/')).body).not.toContain('to be run');
  });
});

describe('every page', () => {
  it('restricts browsers to files of this service, and is not cached', async () => {
    const visitor = await loggedIn('203.0.113.40');
    for (const path of ['/', '/login', '/nothing-here']) {
      const { headers, body } = await visitor.get(path);
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
      expect(headers).toMatchObject({
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
      });
      expect(headers['cache-control']).toBe('no-store');
      expect(body).not.toMatch(/<script(?! src="\/assets\/)|<style|\sstyle=|\son\w+=/);
    }
  });

  it('has an address of its own', () => {
    const paths = pages.map(({ method = 'GET', path }) => `${method} ${path}`);
    expect(new Set(paths).size).toBe(paths.length);
  });

  const ownPaths = pages
    .filter(({ method = 'GET', path }) => method === 'GET' && !path.includes(':'))
    .map(({ path }) => path);
  it.each(ownPaths)('opens at %s', async (path) => {
    const visitor = await loggedIn('203.0.113.43');
    const { status, body } = await visitor.get(path);
    expect(status).toBeLessThan(400);
    if (status === 200) expect(body).toContain('<h1');
  });

  it('is a page even if not found, and JSON for programs', async () => {
    const visitor = await loggedIn('203.0.113.41');
    const missing = await visitor.get('/no-such-page');
    expect(missing.status).toBe(404);
    expect(missing.body).toContain('<h1>Not found</h1>');
    expect((await harness.call('GET', '/no-such-page')).body).toMatchObject({ statusCode: 404 });
    expect((await visitor.get('/v1/nothing')).headers['content-type']).toContain('json');
    expect((await visitor.get('/v1/checks')).status).toBe(401);
  });

  it('is compressed if accepted', async () => {
    const visitor = await loggedIn('203.0.113.42');
    const answer = await harness.app.inject({
      url: '/',
      headers: { cookie: visitor.cookieHeader(), 'accept-encoding': 'gzip, br', accept: 'text/html' },
    });
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(answer.rawPayload).toString()).toContain('</html>');
  });

  it('reports that the database is unavailable', async () => {
    const broken = await openHarness();
    onTestFinished(() => broken.close());
    const visitor = new Visitor(broken.app);
    await visitor.post('/login', { key: broken.key });
    await broken.store.close();
    const { status, body } = await visitor.get('/');
    expect(status).toBeGreaterThanOrEqual(500);
    expect(body).toContain('</html>');
    expect(body).toContain('<h1>');
  });
});

describe('files of pages', () => {
  it('stay within 90 KB of script and 30 KB of style, compressed', async () => {
    const { htmx, app, style } = readAssets();
    const [library, own] = [await htmx.compressed('gzip'), await app.compressed('gzip')];
    expect(library.length + own.length).toBeLessThan(90_000);
    expect((await style.compressed('gzip')).length).toBeLessThan(30_000);
  });

  it('are cached by browsers for ever, under a name that changes with them', async () => {
    const { style } = readAssets();
    expect(style.path).toMatch(/^\/assets\/style\.[0-9a-f]{16}\.css$/);
    const answer = await harness.app.inject({ url: style.path, headers: { 'accept-encoding': 'br' } });
    expect(answer.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'br',
      'content-type': 'text/css; charset=utf-8',
    });
    expect((await harness.app.inject({ url: '/assets/../../package.json' })).statusCode).toBe(404);
  });
});

it('are not served with PAGES=off', async () => {
  const bare = await openHarness({ hasPages: false });
  try {
    const answer = await bare.app.inject({ url: '/', headers: { accept: 'text/html' } });
    expect(answer.statusCode).toBe(404);
    expect(answer.headers['content-type']).toContain('json');
    expect((await bare.app.inject({ url: '/login' })).statusCode).toBe(404);
  } finally {
    await bare.close();
  }
});

async function loggedIn(address: string): Promise<Visitor> {
  const visitor = new Visitor(harness.app, { address });
  await visitor.post('/login', { key: harness.key });
  return visitor;
}
