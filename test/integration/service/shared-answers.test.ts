import { afterAll, beforeAll, expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { createCheck, openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness;
const clock = new ManualClock();

beforeAll(async () => {
  harness = await openHarness({ clock });
});
afterAll(async () => await harness.close());

async function make(path: string, body: unknown): Promise<string> {
  const answer = await harness.call('POST', `/v1/${path}`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.id;
}

const shared = 'public, max-age=10, stale-while-revalidate=30, stale-if-error=86400';
const ask = (path: string, etag?: unknown) =>
  harness.call('GET', path, undefined, {
    key: null,
    headers: etag === undefined ? {} : { 'if-none-match': `"other", ${etag}` },
  });

it('public pages as JSON, and badges, are sent to a cache once, until they change', async () => {
  const service = await make('status-pages/services', { name: 'API' });
  await make('status-pages', {
    name: 'Ours',
    url: 'ours',
    cards: [{ name: 'Core', services: [{ id: service }] }],
  });
  const check = await createCheck(harness, { tags: ['shown'] });
  await make('dashboards', { header: 'All', customUrl: 'all', tags: ['shown'] });
  const change = {
    '/v1/public/status-pages/ours': shared,
    '/v1/badges/status-pages/ours': 'max-age=60',
    '/v1/public/dashboards/all': shared,
    [`/v1/badges/checks/${check.id}`]: 'max-age=60',
  };
  const etags = new Map<string, unknown>();
  for (const [path, sharing] of Object.entries(change)) {
    const first = await ask(path);
    expect([first.status, first.headers['cache-control']], path).toEqual([200, sharing]);
    const { etag } = first.headers;
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    etags.set(path, etag);
    // The refreshed response is equal.
    clock.advance(11_000);
    const again = await ask(path, etag);
    expect([again.status, again.body, again.headers.etag]).toEqual([304, '', etag]);
    expect(again.headers['cache-control']).toBe(sharing);
    expect((await ask(path, 'W/"of another time"')).status).toBe(200);
  }
  await make('status-pages/incidents', {
    name: 'Down',
    severity: 'MAJOR',
    services: [{ id: service }],
    incidentUpdates: [{ status: 'INVESTIGATING', description: 'x' }],
  });
  await harness.call('PUT', `/v1/checks/url/${check.id}`, { name: 'another name' });
  clock.advance(11_000);
  for (const [path, etag] of etags) {
    const { status, headers } = await ask(path, etag);
    expect([status, headers.etag === etag], path).toEqual([200, false]);
  }
});

it('a status page of many services is rendered once in ten seconds for all readers', async () => {
  const services: { id: string }[] = [];
  for (let index = 0; index < 21; index += 1) {
    services.push({ id: await make('status-pages/services', { name: `service ${index}` }) });
  }
  const id = await make('status-pages', { name: 'Many', url: 'many', cards: [{ name: 'All', services }] });
  const first = await ask('/v1/public/status-pages/many');
  clock.advance(9_000);
  const same = await ask('/v1/public/status-pages/many');
  expect(same.body.generatedAt).toBe(first.body.generatedAt);
  // The account that changes it sees the change at once.
  await harness.call('PUT', `/v1/status-pages/${id}`, { name: 'Very many' });
  expect((await ask('/v1/public/status-pages/many')).body.page.name).toBe('Very many');
  clock.advance(11_000);
  const later = await ask('/v1/public/status-pages/many');
  expect(later.body.generatedAt > first.body.generatedAt).toBe(true);
});

it('private pages, and errors, are not cacheable', async () => {
  const made = await harness.call('POST', '/v1/status-pages', {
    ...{ name: 'Secret', url: 'secret', cards: [], isPrivate: true },
  });
  const key = made.body.keys[0].rawKey;
  const { status, headers } = await ask(`/v1/public/status-pages/secret?key=${key}`);
  expect([status, headers['cache-control'], headers.etag]).toEqual([200, 'private, no-store', undefined]);
  for (const path of [
    '/v1/public/status-pages/secret',
    '/v1/public/status-pages/none',
    '/v1/badges/status-pages/none',
  ]) {
    const refused = await ask(path);
    expect(refused.status).toBeGreaterThan(400);
    expect(String(refused.headers['cache-control'] ?? '')).not.toContain('public');
    expect(refused.headers.etag).toBeUndefined();
  }
});
