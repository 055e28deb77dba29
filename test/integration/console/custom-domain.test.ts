import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildConcurrencyGate } from '../../../src/console/public/concurrency-gate.ts';
import { DirectoryStore } from '../../../src/platform/artifact-store/directory-store.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  openHarness,
  quietLogger,
  type ServiceHarness,
  temporaryFolder,
  until,
} from '../../helpers/service/service.ts';
import { Visitor } from '../../helpers/service/visitor.ts';

const publicUrl = 'https://picket.example.com';
const isDomainAllowed = (host: string) => host.endsWith('.acme.test');
const artifacts = temporaryFolder();
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness({
    clock,
    requestsPerMinute: 600,
    publicUrl,
    hasMailer: true,
    artifactFolder: artifacts.path,
    // Proofs in DNS have their own file: custom-domains.test.ts.
    isDomainAllowed,
  });
  const page = { name: 'Acme', url: 'acme', customDomain: 'status.acme.test', cards: [] };
  await harness.call('POST', '/v1/status-pages', page);
  await harness.call('POST', '/v1/dashboards', { header: 'Wall', customDomain: 'wall.acme.test' });
});
afterAll(async () => {
  await harness.close();
  artifacts.remove();
});

/** Responses of a service that waits for its database. */
async function waitingRoom() {
  const artifactStore = await DirectoryStore.open(artifacts.path);
  return buildConcurrencyGate({ artifactStore, clock, logger: quietLogger, publicUrl, trustedProxies: [] });
}

const at = (host: string, url: string, headers: Readonly<Record<string, string>> = {}, app = harness.app) =>
  app.inject({ url, headers: { host, accept: 'text/html', ...headers } });

describe('a host name of a page', () => {
  it('serves the page at its root, and links that stay there', async () => {
    const page = await at('STATUS.acme.test:8443', '/');
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('Acme');
    expect(page.body).toContain('href="/incidents.atom"');
    expect(page.headers['cache-control']).toContain('stale-if-error');
    const feed = await at('status.acme.test', '/incidents.json');
    expect(feed.json().home_page_url).toBe('https://status.acme.test');
    const style = /href="(\/assets\/style[^"]+)"/.exec(page.body)?.[1] ?? '';
    expect((await at('status.acme.test', style)).statusCode).toBe(200);
  });

  it('has nothing of the console, whoever is logged in', async () => {
    const visitor = new Visitor(harness.app, { address: '203.0.113.77' });
    await visitor.post('/login', { key: harness.key });
    const cookie = visitor.cookieHeader();
    for (const path of ['/alerts', '/checks', '/live', '/pages/status', '/status/other']) {
      const answer = await at('status.acme.test', path, { cookie });
      expect([path, answer.statusCode]).toEqual([path, 404]);
    }
    // A key is valid at every host name; a session is not.
    const keyed = await at('status.acme.test', '/alerts', { cookie, authorization: `Bearer ${harness.key}` });
    expect([keyed.statusCode, keyed.headers['location']]).toEqual([303, '/login?next=%2Falerts']);
    const page = await at('status.acme.test', '/', { cookie });
    expect(page.body).not.toContain('Log out');
    expect(page.headers['set-cookie']).toBeUndefined();
  });

  it('redirects after the login to paths of the service only, also by /login?next=', async () => {
    const visitor = new Visitor(harness.app, { address: '203.0.113.78' });
    await visitor.post('/login', { key: harness.key });
    const cookie = visitor.cookieHeader();
    const places = [
      ['/alerts?x=1', '/alerts?x=1'],
      ['/.//evil.example/phish', '/evil.example/phish'],
      ['/..//evil.example', '/evil.example'],
      ['//evil.example', '/'],
      ['/\\\\evil.example', '/'],
      ['https://evil.example/', '/'],
      ['https://status.acme.test/', '/'],
    ] as const;
    for (const host of ['picket.example.com', 'status.acme.test', 'wall.acme.test']) {
      for (const [next, place] of places) {
        const answer = await at(host, `/login?next=${encodeURIComponent(next)}`, { cookie });
        expect([host, next, answer.statusCode, answer.headers['location']]).toEqual([host, next, 303, place]);
      }
    }
  });

  it('accepts the reports of agents, like all requests with a key', async () => {
    const { body } = await harness.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
    const send = (host: string, key: string) =>
      harness.app.inject({
        method: 'POST',
        url: '/api/agent/envelope/',
        headers: {
          host,
          authorization: `Bearer ${key}`,
          'content-type': 'application/x-sentry-envelope',
        },
        payload: 'no envelope',
      });
    for (const key of [body.keys[0].rawKey, 'pl_unknown']) {
      const here = await send('picket.example.com', key);
      for (const host of ['status.acme.test', 'wall.acme.test']) {
        const there = await send(host, key);
        expect([host, there.statusCode, there.json().message]).toEqual([
          host,
          here.statusCode,
          here.json().message,
        ]);
      }
      expect(here.statusCode).toBe(key === 'pl_unknown' ? 401 : 400);
    }
  });

  it("leaves the service's own name, addresses and unknown names to the console", async () => {
    for (const host of [
      'picket.example.com',
      'other.acme.test',
      '127.0.0.1:8080',
      'localhost',
      '[::1]',
      'status.acme.test.evil.test',
    ]) {
      const answer = await at(host, '/');
      expect([host, answer.headers['location']]).toEqual([host, '/login']);
    }
    // The forwarded host counts only if a trusted proxy sends it.
    const forwarded = await at('picket.example.com', '/', { 'x-forwarded-host': 'status.acme.test' });
    expect(forwarded.headers['location']).toBe('/login');
  });

  it('accepts the key of a private page, and redirects to its root', async () => {
    const page = { name: 'Vault', url: 'vault', customDomain: 'vault.acme.test', cards: [], isPrivate: true };
    const { keys } = (await harness.call('POST', '/v1/status-pages', page)).body;
    const host = 'vault.acme.test';
    // The list of hosts is cached for some seconds.
    clock.advance(5_000);
    const asked = await at(host, '/');
    expect([asked.statusCode, asked.body]).toEqual([
      401,
      expect.stringContaining('action="/status/vault/key"'),
    ]);
    const answer = await harness.app.inject({
      method: 'POST',
      url: '/status/vault/key',
      headers: {
        ...{ host, 'sec-fetch-site': 'same-origin' },
        'content-type': 'application/x-www-form-urlencoded',
      },
      payload: `key=${keys[0].rawKey}`,
    });
    expect([answer.statusCode, answer.headers['location']]).toEqual([303, '/']);
    const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
    expect((await at(host, '/', { cookie })).statusCode).toBe(200);
  });

  it('serves a dashboard', async () => {
    const answer = await at('wall.acme.test', '/');
    expect([answer.statusCode, answer.headers['location']]).toEqual([303, '/dashboards/wall.acme.test']);
    expect((await at('wall.acme.test', '/dashboards/wall.acme.test')).body).toContain('Wall');
    expect((await at('wall.acme.test', '/dashboards/other')).statusCode).toBe(404);
  });

  it('counts only if the service knows its own name', async () => {
    const nameless = await openHarness({ isDomainAllowed });
    try {
      const page = { name: 'Acme', url: 'acme', customDomain: 'status.acme.test', cards: [] };
      await nameless.call('POST', '/v1/status-pages', page);
      const answer = await at('status.acme.test', '/', {}, nameless.app);
      expect(answer.headers['location']).toBe('/login');
    } finally {
      await nameless.close();
    }
  });
});

it('a copy is served after a restart when the database is unavailable, and is deleted with its page', async () => {
  const service = (await harness.call('POST', '/v1/status-pages/services', { name: 'Shop' })).body.id;
  const cards = [{ name: 'Core', services: [{ id: service }] }];
  await harness.call('POST', '/v1/status-pages', { name: 'Kept', url: 'kept', cards });
  const shut = { name: 'Shut', url: 'shut', cards, isPrivate: true, customDomain: 'shut.acme.test' };
  const { keys } = (await harness.call('POST', '/v1/status-pages', shut)).body;
  const gone = (await harness.call('POST', '/v1/status-pages', { name: 'Gone', url: 'gone', cards: [] })).body
    .id;
  harness.startPageCopies();
  const broken = async () => {
    const other = await openHarness({ clock, publicUrl, artifactFolder: artifacts.path, isDomainAllowed });
    await other.store.close();
    return other;
  };
  await until('there are copies', async () => {
    const other = await broken();
    const ofAcme = at('status.acme.test', '/', {}, other.app);
    const answers = await Promise.all([
      ofAcme,
      ...['/status/kept', '/status/gone', `/status/shut?key=${keys[0].rawKey}`].map((path) =>
        at('picket.example.com', path, {}, other.app),
      ),
    ]);
    await other.close();
    clock.advance(10_000);
    return answers.every(({ statusCode }) => statusCode === 200);
  });
  const waiting = await waitingRoom();
  expect((await at('picket.example.com', '/status/kept', {}, waiting)).body).toContain('as of');
  expect((await at('status.acme.test', '/', {}, waiting)).statusCode).toBe(200);
  for (const [host, path] of [
    ['picket.example.com', '/status/shut'],
    ['shut.acme.test', '/'],
  ] as const) {
    expect((await at(host, path, {}, waiting)).statusCode).toBe(401);
    const cookie = `picket-status-shut=${keys[0].rawKey}`;
    expect((await at(host, path, { cookie }, waiting)).statusCode).toBe(200);
    expect((await at(host, `${path}?key=sp_wrong`, {}, waiting)).statusCode).toBe(403);
  }
  expect((await at('status.acme.test', '/v1/checks', {}, waiting)).statusCode).toBe(503);
  expect((await at('picket.example.com', '/v1/checks', {}, waiting)).statusCode).toBe(503);
  await waiting.close();
  await harness.call('POST', '/v1/status-pages/incidents', {
    name: 'Orders fail',
    severity: 'MAJOR',
    services: [{ id: service }],
    incidentUpdates: [{ description: 'Looked into.', status: 'INVESTIGATING' }],
  });
  await harness.call('DELETE', `/v1/status-pages/${gone}`);
  await until('the copies follow', async () => {
    const other = await broken();
    const kept = await at('picket.example.com', '/status/kept', {}, other.app);
    const removed = await at('picket.example.com', '/status/gone', {}, other.app);
    const own = await at('status.acme.test', '/', {}, other.app);
    await other.close();
    clock.advance(10_000);
    expect([kept.statusCode, own.statusCode]).toEqual([200, 200]);
    expect(kept.body).toContain('State as of');
    return kept.body.includes('Orders fail') && removed.statusCode >= 500;
  });
});
