import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness;

beforeAll(async () => {
  harness = await openHarness();
});
afterAll(async () => {
  await harness.close();
});

const base = '/v1/status-pages';
const uniqueUrl = () => `page-${randomUUID().slice(0, 8)}`;

it('keeps a page with every field, as given, with normalised colors and addresses', async () => {
  const service = (await harness.call('POST', `${base}/services`, { name: 'API' })).body;
  const colors = Object.fromEntries(
    [
      'bodyBackgroundColor',
      'headerBackgroundColor',
      'headerFontColor',
      'titleFontColor',
      'bodyFontColor',
      'bodyFontColorMuted',
      'navigationFontColor',
      'linkFontColor',
      'cardBackgroundColor',
      'borderColor',
      'primaryButtonBackgroundColor',
      'primaryButtonFontColor',
    ].map((name) => [name, '#abc']),
  );
  const url = uniqueUrl();
  const written = {
    name: 'Ours #fff',
    url: url.toUpperCase(),
    customDomain: `${url}.Example.COM`,
    description: 'x'.repeat(500),
    themeColors: { light: colors, dark: { ...colors, borderColor: '#00ff7f' } },
    logo: 'https://example.com/logo.png',
    redirectTo: 'https://example.com',
    favicon: null,
    defaultTheme: 'DARK',
    cards: [
      { name: 'Core', services: [{ id: service.id }, { id: service.id }] },
      { name: 'Empty', services: [] },
    ],
  };
  const created = await harness.call('POST', base, written);
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    ...written,
    url,
    customDomain: `${url}.example.com`,
    themeColors: { light: { borderColor: '#ABC' }, dark: { borderColor: '#00FF7F' } },
    whiteLabel: false,
    isPrivate: false,
    keys: [],
    cards: [
      { name: 'Core', services: [{ ...service }] },
      { name: 'Empty', services: [] },
    ],
  });
  expect(created.body.cards[0].services).toHaveLength(1);
  expect((await harness.call('GET', `${base}/${created.body.id}`)).body).toEqual(created.body);

  // Cards are replaced as a whole; a card with an id keeps its identity.
  const [core] = created.body.cards;
  const changed = await harness.call('PUT', `${base}/${created.body.id}`, {
    cards: [{ name: 'New' }, { id: core.id, name: 'Core 2', services: [{ id: service.id }] }],
  });
  expect(changed.status).toBe(200);
  expect(changed.body).toMatchObject({
    name: 'Ours #fff',
    defaultTheme: 'DARK',
    cards: [
      { name: 'New', services: [] },
      { id: core.id, name: 'Core 2', created_at: core.created_at, services: [{ id: service.id }] },
    ],
  });
  for (const id of [randomUUID(), created.body.cards[1].id]) {
    const answer = await harness.call('PUT', `${base}/${created.body.id}`, { cards: [{ id, name: 'x' }] });
    expect([answer.status, answer.body.validation]).toEqual([
      400,
      { source: 'payload', keys: ['cards.0.id'] },
    ]);
  }

  expect((await harness.call('DELETE', `${base}/services/${service.id}`)).status).toBe(204);
  const without = await harness.call('GET', `${base}/${created.body.id}`);
  expect(without.body.cards[1].services).toEqual([]);
  expect((await harness.call('DELETE', `${base}/${created.body.id}`)).status).toBe(204);
  expect((await harness.call('GET', `${base}/${created.body.id}`)).status).toBe(404);
});

it('has defaults', async () => {
  const created = await harness.call('POST', base, { name: 'x', url: uniqueUrl(), cards: [] });
  expect(created.body).toMatchObject({
    description: null,
    customDomain: null,
    themeColors: null,
    logo: null,
    redirectTo: null,
    favicon: null,
    defaultTheme: 'AUTO',
    cards: [],
    updated_at: null,
  });
});

it('refuses addresses that are taken, in any case, by any account', async () => {
  const stranger = await harness.addAccount();
  const url = uniqueUrl();
  await harness.call('POST', base, { name: 'x', url, customDomain: `${url}.test`, cards: [] });
  const own = await harness.call('POST', base, { name: 'y', url: uniqueUrl(), cards: [] });
  for (const taken of [{ url: url.toUpperCase() }, { customDomain: `${url}.TEST` }]) {
    const body = { name: 'y', url: uniqueUrl(), cards: [], ...taken };
    const answers = [
      await harness.call('POST', base, body, { key: stranger.key }),
      await harness.call('PUT', `${base}/${own.body.id}`, taken),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.body.error]).toEqual([409, 'Conflict']);
    }
  }
  expect((await harness.call('GET', `${base}/${own.body.id}`)).body).toEqual(own.body);
});

it('answers 404 for unknown services, and those of others', async () => {
  const stranger = await harness.addAccount();
  const service = (await harness.call('POST', `${base}/services`, { name: 'API' })).body;
  const card = (id: string) => ({ name: 'x', url: uniqueUrl(), cards: [{ name: 'c', services: [{ id }] }] });
  expect((await harness.call('POST', base, card(randomUUID()))).status).toBe(404);
  expect((await harness.call('POST', base, card(service.id), { key: stranger.key })).status).toBe(404);
  const incident = {
    name: 'x',
    severity: 'MINOR',
    services: [{ id: service.id }],
    incidentUpdates: [{ status: 'INVESTIGATING', description: 'd' }],
  };
  expect((await harness.call('POST', `${base}/incidents`, incident, { key: stranger.key })).status).toBe(404);
});

it('pages by cursor, despite concurrent deletions', async () => {
  const { key } = await harness.addAccount();
  const call = (method: string, path: string, body?: unknown) => harness.call(method, path, body, { key });
  const names = Array.from({ length: 25 }, (_, index) => `service ${index}`);
  for (const name of names) await call('POST', `${base}/services`, { name });
  const first = (await call('GET', `${base}/services`)).body;
  expect([first.length, first.entries.length]).toEqual([20, 20]);
  // The entry at the cursor is deleted before the next page is requested.
  await call('DELETE', `${base}/services/${first.entries[19].id}`);
  const second = (await call('GET', `${base}/services?nextId=${first.nextId}`)).body;
  expect([second.length, second.nextId]).toEqual([5, null]);
  const seen = [...first.entries, ...second.entries].map(({ name }: { name: string }) => name);
  expect(seen.sort()).toEqual(names.sort());
  const all = (await call('GET', `${base}/services?paginated=false`)).body;
  expect([all.length, all.nextId]).toEqual([24, null]);
  expect((await call('GET', `${base}/services?limit=24`)).body.nextId).toBeNull();
  for (const query of ['limit=0', 'limit=101', 'nextId=x', `nextId=1.${'z'.repeat(36)}`]) {
    expect([query, (await call('GET', `${base}/services?${query}`)).status]).toEqual([query, 400]);
  }
});

it('subscribes addresses in bulk and unsubscribes them', async () => {
  const page = (await harness.call('POST', base, { name: 'x', url: uniqueUrl(), cards: [] })).body;
  const at = `${base}/${page.id}/subscriptions`;
  const subscribe = (...addresses: string[]) =>
    harness.call('POST', `${at}/bulk`, {
      subscriptions: addresses.map((address) => ({ type: 'EMAIL', config: { address } })),
    });
  const first = await subscribe('a@example.com', 'B@example.com', 'b@EXAMPLE.com');
  expect([first.status, first.body]).toEqual([201, { created: 2, skipped: 1, status: 'VERIFIED' }]);
  expect((await subscribe('a@example.com', 'c@example.com')).body).toMatchObject({ created: 1, skipped: 1 });
  const listed = (await harness.call('GET', at)).body;
  expect(listed.entries.map(({ address }: { address: string }) => address).sort()).toEqual([
    'a@example.com',
    'b@example.com',
    'c@example.com',
  ]);
  expect(JSON.stringify(listed)).not.toContain('token');
  expect((await harness.call('DELETE', `${at}/${listed.entries[0].id}`)).status).toBe(204);
  expect((await harness.call('DELETE', `${at}/${listed.entries[0].id}`)).status).toBe(404);
  expect((await subscribe('no address')).status).toBe(400);
  const tooMany = await subscribe(...Array.from({ length: 101 }, (_, index) => `${index}@example.com`));
  expect(tooMany.status).toBe(400);
});
