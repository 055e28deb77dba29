import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { createCheck, openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { Visitor } from '../../helpers/service/visitor.ts';

// A clock that can be advanced: responses are cached for ten seconds.
let aheadMs = 0;
const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>'&amp;\u202e\u0007`;

let harness: ServiceHarness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ clock });
  visitor = new Visitor(harness.app);
});
afterAll(() => harness.close());

async function call(method: string, path: string, body?: unknown, key?: string) {
  const answer = await harness.call(method, path, body, key === undefined ? {} : { key });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
const addService = async (name: string): Promise<string> =>
  (await call('POST', '/v1/status-pages/services', { name })).id;
const addPage = (url: string, services: readonly string[], more: object = {}) =>
  call('POST', '/v1/status-pages', {
    name: `Page ${url}`,
    url,
    cards: [{ name: 'Core', services: services.map((id) => ({ id })) }],
    ...more,
  });
const addIncident = (name: string, services: readonly string[], more: object = {}) =>
  call('POST', '/v1/status-pages/incidents', {
    name,
    severity: 'MAJOR',
    services: services.map((id) => ({ id })),
    incidentUpdates: [{ description: 'We look into it.', status: 'INVESTIGATING' }],
    ...more,
  });
const hour = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
/** The visible text of a document. */
const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

describe('a status page', () => {
  it('shows its overall state, its problems and their updates', async () => {
    const [shop, mail] = [await addService('Shop'), await addService('Mail')];
    await addPage('plain', [shop, mail], { description: 'What we run.' });
    const before = textOf((await visitor.get('/status/PLAIN')).body);
    expect(before).toContain('All services operational');
    expect(before).toContain('What we run.');
    const incident = await addIncident('Orders fail', [shop]);
    await call('POST', `/v1/status-pages/incidents/${incident.id}/incident-updates`, {
      description: 'A disk is full.',
      status: 'IDENTIFIED',
    });
    const over = await addIncident('Slow mail', [mail], { severity: 'MINOR' });
    await call('POST', `/v1/status-pages/incidents/${over.id}/incident-updates`, {
      description: 'All is well.',
      status: 'RESOLVED',
    });
    for (const [name, from, to] of [
      ['New disks', -1, 1],
      ['New racks', 24, 26],
    ] as const) {
      await call('POST', '/v1/maintenance-windows', {
        name,
        startsAt: hour(from),
        endsAt: hour(to),
        statusPageVisibility: { enabled: true, serviceIds: [mail] },
      });
    }
    aheadMs += 10_000;
    const { body } = await visitor.get('/status/plain');
    const text = textOf(body);
    expect(text).toContain('Major problem, 2 of 2 services affected');
    for (const part of [
      'Open incidents',
      'Orders fail',
      'A disk is full.',
      'We look into it.',
      'Affects Shop',
    ]) {
      expect(text).toContain(part);
    }
    expect(text.indexOf('A disk is full.')).toBeLessThan(text.indexOf('We look into it.'));
    expect(text).toMatch(
      /Ongoing maintenance .*New disks.*Planned maintenance.*New racks.*History.*Slow mail/,
    );
    expect(text).toContain('In maintenance');
    expect(body.match(/class="day-bars"/g)).toHaveLength(2);
  });

  it('shows nothing unmeasured as operational or green', async () => {
    const [measured, announced] = [await addService('Measured'), await addService('By hand')];
    await createCheck(harness, {
      name: 'never run',
      triggerIncident: { serviceId: measured, name: 'Down', description: 'x', notifySubscribers: false },
    });
    await addPage('grey', [measured]);
    await addPage('hand', [announced]);
    const { body } = await visitor.get('/status/grey');
    expect(textOf(body)).toContain('No known incidents; not measured now');
    expect(textOf(body)).toMatch(/Measured – Not measured/);
    expect(body).not.toContain('day-measured');
    expect(body).not.toContain('100 %');
    // Days before the check existed are empty, not grey.
    expect(body.match(/: no data yet</g)?.length).toBeGreaterThanOrEqual(89);
    expect(textOf(body)).toContain('not measured yet');
    const byHand = (await visitor.get('/status/hand')).body;
    expect(byHand).not.toContain('day-measured');
    expect(textOf(byHand)).toMatch(/100 % without an announced incident since \d+ \w+ 20\d\d/);
  });

  it('shows hostile text of every field as text, in the feeds too', async () => {
    const service = await addService(hostile);
    await addPage('hostile', [service], {
      name: hostile,
      description: hostile,
      logo: 'https://images.example.com/a.png?"><script>',
      redirectTo: 'https://example.com/?"><script>',
      cards: [{ name: hostile, services: [{ id: service }] }],
    });
    await addIncident(hostile, [service], {
      incidentUpdates: [{ description: `${hostile}]]>`, status: 'INVESTIGATING' }],
    });
    const window = await call('POST', '/v1/maintenance-windows', {
      name: hostile,
      description: hostile,
      startsAt: hour(-1),
      endsAt: hour(1),
      statusPageVisibility: { enabled: true, serviceIds: [service] },
    });
    await call('POST', `/v1/maintenance-windows/${window.id}/maintenances/1/updates`, {
      description: hostile,
    });
    const page = await visitor.get('/status/hostile');
    expect(page.body.match(/<script/g)).toHaveLength(1);
    expect(page.body).not.toMatch(/<img src=x|<svg\/|\u202e|\sstyle=/);
    expect(page.body.match(/&lt;script&gt;alert\(1\)/g)?.length).toBeGreaterThanOrEqual(9);
    expect(page.headers['content-security-policy']).toContain("img-src 'self' https://images.example.com;");
    const atom = await visitor.get('/status/hostile/incidents.atom');
    const rss = await visitor.get('/status/hostile/incidents.rss');
    expect(rss.body).not.toMatch(/<script|<img/);
    expect(atom.body).not.toMatch(/<script|\u202e/);
    expect(page.body + atom.body).not.toContain('\u0007');
    expect(atom.body).toContain('&lt;script&gt;');
    const json = JSON.parse((await visitor.get('/status/hostile/incidents.json')).body);
    expect(json.items[0].title).toContain('<script>');
  });

  it('has its incidents as feeds, with addresses of the page', async () => {
    const service = await addService('Feed');
    await addPage('feed', [service]);
    const incident = await addIncident('Fed', [service]);
    const page = await visitor.get('/status/feed');
    expect(page.body).toContain(
      'type="application/atom+xml" title="Incidents (Atom)" href="/status/feed/incidents.atom"',
    );
    const atom = await visitor.get('/status/feed/incidents.atom');
    expect(atom.headers['content-type']).toBe('application/atom+xml; charset=utf-8');
    expect(atom.body).toContain(`<id>urn:uuid:${incident.id}</id>`);
    expect(atom.body).toContain('Investigating: We look into it.');
    const rss = await visitor.get('/status/feed/incidents.rss');
    expect(rss.headers['content-type']).toBe('application/rss+xml; charset=utf-8');
    expect(rss.body).toMatch(
      new RegExp(`<guid isPermaLink="false">urn:uuid:${incident.id}:[\\s\\S]*<pubDate>.* GMT</pubDate>`),
    );
    const json = await visitor.get('/status/feed/incidents.json');
    expect(JSON.parse(json.body)).toMatchObject({
      version: 'https://jsonfeed.org/version/1.1',
      items: [{ title: 'Fed (Investigating)', url: `/status/feed#incident-${incident.id}` }],
    });
  });

  it('has the colours of its owner, and its theme', async () => {
    const colour = { light: '#112233', dark: '#AABBCC' };
    const names =
      'bodyBackgroundColor headerBackgroundColor headerFontColor titleFontColor bodyFontColor bodyFontColorMuted navigationFontColor linkFontColor cardBackgroundColor borderColor primaryButtonBackgroundColor primaryButtonFontColor';
    const themeOf = (value: string) => Object.fromEntries(names.split(' ').map((name) => [name, value]));
    const themeColors = { light: themeOf(colour.light), dark: themeOf(colour.dark) };
    await addPage('coloured', [], { themeColors, defaultTheme: 'DARK' });
    const { body } = await visitor.get('/status/coloured');
    expect(body).toContain('data-theme="dark"');
    expect(body).toContain('href="/status/coloured/colours.css"');
    const css = await visitor.get('/status/coloured/colours.css');
    expect(css.headers['content-type']).toBe('text/css; charset=utf-8');
    expect(css.body).toContain('--paper: light-dark(#112233, #AABBCC)');
    await addPage('uncoloured', []);
    expect((await visitor.get('/status/uncoloured/colours.css')).status).toBe(404);
  });

  it('is a page even if not found, and needs no session if it exists', async () => {
    for (const path of [
      '/status/nowhere',
      '/status/%00',
      '/status/..%2f..%2fetc',
      '/status/nowhere/incidents.atom',
    ]) {
      const missing = await visitor.get(path);
      expect(missing.status, path).toBe(404);
      expect(missing.body).toContain('<h1>Not found</h1>');
      expect(missing.headers['cache-control']).toBe('no-store');
    }
    const other = await harness.addAccount();
    await call('POST', '/v1/status-pages', { name: 'Theirs', url: 'theirs', cards: [] }, other.key);
    const { body, headers } = await visitor.get('/status/theirs');
    expect(body).toContain('Theirs');
    expect(body).not.toContain('Shop');
    expect(headers['set-cookie']).toBeUndefined();
  });

  it('is restricted to its own files, and cached for seconds or while the service is down', async () => {
    await addPage('cached', []);
    const { headers, body } = await visitor.get('/status/cached');
    expect(headers['cache-control']).toBe(
      'public, max-age=10, stale-while-revalidate=30, stale-if-error=86400',
    );
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:|data:/);
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff' });
    expect(body).not.toMatch(/<script(?! src="\/assets\/)|<style|\sstyle=/);
    const again = await harness.app.inject({
      url: '/status/cached',
      headers: { 'if-none-match': String(headers['etag']), 'accept-encoding': 'gzip' },
    });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });
});

it('is served from memory when the database is unavailable, with a note; a deleted page is not', async () => {
  const broken = await openHarness({ clock });
  onTestFinished(() => broken.close());
  const reader = new Visitor(broken.app);
  for (const url of ['kept', 'deleted']) {
    const page = await broken.call('POST', '/v1/status-pages', { name: `Page ${url}`, url, cards: [] });
    expect((await reader.get(`/status/${url}`)).body).not.toContain('as of');
    if (url === 'deleted') await broken.call('DELETE', `/v1/status-pages/${page.body.id}`);
  }
  aheadMs += 10_000;
  expect((await reader.get('/status/deleted')).status).toBe(404);
  await broken.store.close();
  const kept = await reader.get('/status/kept');
  expect(kept.status).toBe(200);
  expect(textOf(kept.body)).toContain('State as of');
  expect(kept.headers['cache-control']).toBe('public, max-age=5');
  for (const url of ['deleted', 'never-asked']) {
    const missing = await reader.get(`/status/${url}`);
    expect(missing.status).toBeGreaterThanOrEqual(500);
    expect(missing.body).toContain('temporarily unavailable');
  }
});

it('limits what must be rendered, but not readers of cached pages', async () => {
  const limited = await openHarness({ clock, requestsPerMinute: 1_000 });
  try {
    const reader = new Visitor(limited.app);
    await limited.call('POST', '/v1/status-pages', { name: 'x', url: 'read', cards: [] });
    for (let count = 0; count < 100; count += 1) expect((await reader.get('/status/read')).status).toBe(200);
    const guesses: number[] = [];
    // On a slow machine, the allowance grows meanwhile.
    for (let count = 0; guesses.at(-1) !== 429 && count < 1_000; count += 1)
      guesses.push((await reader.get(`/status/guess-${count}`)).status);
    expect(guesses.at(0)).toBe(404);
    expect(guesses.at(-1)).toBe(429);
    expect((await reader.get('/status/read')).status).toBe(200);
  } finally {
    await limited.close();
  }
});

describe('a private status page', () => {
  const main = (body: string) => textOf(body.slice(body.indexOf('<main')));
  let key: string;
  beforeAll(async () => {
    const shop = await addService('Vault');
    key = (await addPage('vault', [shop], { isPrivate: true })).keys[0].rawKey;
    await addPage('vault2', [shop], { isPrivate: true });
  });

  it('requires its key at every address, and is shown to no other visitor after the key was used', async () => {
    const opened = await visitor.get(`/status/vault?key=${key}`);
    expect(main(opened.body)).toContain('Vault');
    expect(opened.headers['cache-control']).toBe('private, no-store');
    expect(opened.body).toContain(`href="/status/vault/incidents.atom?key=${key}"`);
    for (const end of ['', '/incidents.atom', '/incidents.rss', '/incidents.json', '/colours.css']) {
      const asked = await visitor.get(`/status/vault${end}`);
      expect([end, asked.status]).toEqual([end, 401]);
      expect(asked.body).toContain('This status page is private');
      expect(asked.body).not.toContain('Vault');
    }
    expect((await visitor.get(`/status/vault/incidents.atom?key=${key}`)).status).toBe(200);
    expect((await visitor.get('/status/vault?key=sp_wrong')).status).toBe(403);
    expect((await visitor.get(`/status/vault2?key=${key}`)).status).toBe(403);
    expect(
      (await harness.call('GET', '/v1/badges/status-pages/vault', undefined, { key: null })).status,
    ).toBe(404);
  });

  it('takes the key in a form, and keeps it out of addresses', async () => {
    const reader = new Visitor(harness.app);
    for (const wrong of ['sp_wrong; Path=/x', 'sp_wrong', '']) {
      const refused = await reader.post('/status/vault/key', { key: wrong });
      expect([refused.status, refused.headers['set-cookie']]).toEqual([403, undefined]);
    }
    const foreign = { headers: { 'sec-fetch-site': 'cross-site' } };
    expect((await reader.post('/status/vault/key', { key }, foreign)).status).toBe(403);
    const answer = await reader.post('/status/vault/key', { key });
    expect([answer.status, answer.headers['location']]).toEqual([303, '/status/vault']);
    const page = await reader.get('/status/vault');
    expect(main(page.body)).toContain('Vault');
    expect(page.body).not.toContain(key);
  });

  it('closes to a replaced key, and accepts subscribers with the key only', async () => {
    const page = await addPage('closing', [], { isPrivate: true });
    const path = `/status/closing?key=${page.keys[0].rawKey}`;
    expect((await visitor.get(path)).status).toBe(200);
    await call('PUT', `/v1/status-pages/${page.id}`, { isPrivate: false });
    expect((await visitor.get('/status/closing')).status).toBe(200);
    await call('PUT', `/v1/status-pages/${page.id}`, { isPrivate: true });
    aheadMs += 10_000;
    expect((await visitor.get(path)).status).toBe(403);
    expect((await visitor.get('/status/closing')).status).toBe(401);
    const body = { type: 'EMAIL', config: { address: 'a@example.com' } };
    const to = '/v1/public/status-pages/closing/subscriptions';
    expect((await harness.call('POST', to, body, { key: null })).status).toBe(401);
  });
});
