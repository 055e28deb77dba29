import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { createCheck, openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

const hostile = `"><script>alert(1)</script>'&{{x}}`;
const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
let harness: ServiceHarness;
let writer: Visitor;
let reader: Visitor;
let csrf: string;
let service: string;
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
beforeAll(async () => {
  harness = await openHarness({ clock, hasMailer: true, publicUrl: 'https://picket.example.com' });
  writer = await loggedIn(harness);
  reader = await loggedIn(harness, 'READ_ONLY');
  csrf = await writer.csrf();
  await writer.post('/pages/services', { csrf, name: 'Shop' });
  service = (await harness.call('GET', '/v1/status-pages/services')).body.entries[0].id;
});
afterAll(() => harness.close());

it('services are created, renamed and deleted', async () => {
  expect((await writer.post('/pages/services', { csrf, name: '' })).status).toBe(422);
  await writer.post('/pages/services', { csrf, name: hostile });
  const { entries } = (await harness.call('GET', '/v1/status-pages/services')).body;
  const { id } = entries.find(({ name }: { name: string }) => name === hostile);
  expect((await reader.get('/pages/services')).body).not.toContain('<script>alert');
  expect((await reader.get('/pages/services')).body).not.toContain('New service');
  await writer.post(`/pages/services/${id}`, { csrf, name: 'Mail' });
  expect((await reader.get('/pages/services')).body).toContain('Mail');
  await writer.post(`/pages/services/${id}/delete`, { csrf });
  expect((await reader.get('/pages/services')).body).not.toContain('Mail');
  const refused = await reader.post('/pages/services', { csrf: await reader.csrf(), name: 'x' });
  expect(refused.status).toBe(403);
});

describe('an incident', () => {
  it('is announced, followed by updates, resolved, and shown on its pages', async () => {
    const cards = [{ name: 'Core', services: [{ id: service }] }];
    await harness.call('POST', '/v1/status-pages', { name: 'Acme', url: 'acme', cards });
    const fields = {
      csrf,
      name: hostile,
      severity: 'MAJOR',
      services: service,
      'incidentUpdates.0.status': 'INVESTIGATING',
      'incidentUpdates.0.description': hostile,
    };
    const wrong = await writer.post('/pages/incidents/new', {
      ...fields,
      services: '',
      'incidentUpdates.0.description': '',
    });
    expect(wrong.status).toBe(422);
    expect(wrong.body).toMatch(/id="field-incidentUpdates-0-description-error"/);
    const made = await writer.post('/pages/incidents/new', fields);
    const path = made.headers['location'] ?? '';
    const page = await reader.get(path);
    expect(page.body).not.toContain('<script>alert');
    expect(page.body).not.toContain('Post the update');
    expect(textOf(page.body)).toContain('Major, investigating');
    expect(page.body).toContain('href="/status/acme"');
    clock.advance(60_000);
    await writer.post(`${path}/updates`, {
      csrf,
      status: 'IDENTIFIED',
      description: 'A disk.',
      resolve: 'true',
    });
    expect(textOf((await reader.get(path)).body)).toMatch(/Resolved[\s\S]*A disk\.[\s\S]*Investigating/);
    expect((await reader.get('/pages/incidents')).body).toContain('Resolved');
    const { body } = await harness.call('GET', '/v1/status-pages/incidents');
    const [newest] = body.entries[0].incidentUpdates;
    await writer.post(`${path}/updates/${newest.id}/delete`, { csrf });
    expect(textOf((await reader.get(path)).body)).toContain('ongoing');
    const renamed = await writer.post(path, { csrf, name: '', severity: 'MINOR', services: service });
    expect(renamed.status).toBe(422);
    await writer.post(path, { csrf, name: 'Renamed', severity: 'MINOR', services: service });
    expect((await reader.get(path)).body).toContain('<h1>Renamed</h1>');
    await writer.post(`${path}/delete`, { csrf });
    expect((await reader.get(path)).status).toBe(404);
  });
});

describe('a maintenance window', () => {
  const fields = () => ({
    csrf,
    name: hostile,
    startsAt: '2026-12-01T08:00',
    endsAt: '2026-12-01T10:00',
    timezone: 'Europe/Berlin',
    repeatInterval: '1',
    repeatUnit: 'WEEK',
    tags: 'shop',
  });

  it('shows before it is saved its next occurrence, and the affected checks', async () => {
    await createCheck(harness, { name: hostile, tags: ['shop'] });
    await createCheck(harness, { name: 'another', tags: ['other'] });
    const { body, status } = await writer.post('/pages/maintenance/preview', fields());
    const text = textOf(body);
    expect(status).toBe(200);
    expect(text).toContain('Tue, 1 Dec 2026, 08:00 Europe/Berlin');
    expect(text).toContain('Tue, 8 Dec 2026, 08:00 Europe/Berlin');
    expect(text).toMatch(/Do not run 1 check /);
    expect(text).not.toContain('another');
    expect(body).not.toContain('<script>alert');
    const unfinished = await writer.post('/pages/maintenance/preview', { ...fields(), endsAt: '' });
    expect(textOf(unfinished.body)).toContain('It cannot be saved: endsAt');
    expect((await harness.call('GET', '/v1/maintenance-windows')).body).toEqual([]);
  });

  it('is saved in the local time of its zone, and edited, moved, announced and deleted', async () => {
    const wrong = await writer.post('/pages/maintenance/new', { ...fields(), timezone: 'Mars/Olympus' });
    expect(wrong.status).toBe(422);
    expect(wrong.body).toMatch(/id="field-timezone-error"/);
    expect(wrong.body).toContain('value="2026-12-01T08:00"');
    const made = await writer.post('/pages/maintenance/new', fields());
    const path = made.headers['location'] ?? '';
    const [window] = (await harness.call('GET', '/v1/maintenance-windows')).body;
    expect(window).toMatchObject({ startsAt: '2026-12-01T07:00:00.000Z', statusPageVisibility: null });
    const list = await reader.get('/pages/maintenance');
    expect(textOf(list.body)).toContain('Tue, 1 Dec 2026, 08:00 Europe/Berlin');
    expect(list.body).toContain('<time datetime="2026-12-01T07:00:00.000Z"');
    const edit = await writer.get(`${path}/edit`);
    expect(edit.body).toContain('value="2026-12-01T08:00"');
    const saved = await writer.post(`${path}/edit`, {
      ...fields(),
      name: 'Disks',
      statusPageVisibility: 'object',
      'statusPageVisibility.severity': 'MEDIUM',
      'statusPageVisibility.serviceIds': service,
      'statusPageVisibility.reminderMinutesBefore': '60\n120',
    });
    expect(saved.headers['location']).toBe(path);
    expect((await harness.call('GET', `/v1/maintenance-windows/${window.id}`)).body).toMatchObject({
      name: 'Disks',
      statusPageVisibility: { enabled: true, severity: 'MEDIUM', reminderMinutesBefore: [60, 120] },
    });
    const moved = await writer.post(`${path}/occurrences/1/move`, {
      csrf,
      startsAt: '2026-12-01T12:00',
      endsAt: '2026-12-01T13:00',
    });
    expect(moved.status).toBe(303);
    await writer.post(`${path}/occurrences/1/update`, { csrf, status: 'IN_PROGRESS', description: hostile });
    await writer.post(`${path}/occurrences/2/skip`, { csrf });
    const page = await reader.get(path);
    const text = textOf(page.body);
    expect(text).toMatch(/1 Dec 2026, 12:00 Europe\/Berlin[\s\S]*In progress/);
    expect(text).not.toContain('8 Dec 2026');
    expect(page.body).not.toContain('<script>alert');
    expect(page.body).not.toContain('Move occurrence');
    const refused = await writer.post(`${path}/occurrences/3/move`, {
      csrf,
      startsAt: '2026-12-20T12:00',
      endsAt: '2026-12-20T11:00',
    });
    expect(refused.status).toBe(422);
    expect((await writer.post(`${path}/delete`, { csrf })).headers['location']).toBe('/pages/maintenance');
    expect((await reader.get(path)).status).toBe(404);
  });
});

describe('a status page', () => {
  const fields = (more: Readonly<Record<string, string>> = {}) => ({
    csrf,
    name: hostile,
    url: 'shop',
    'cards.0.name': 'Core',
    'cards.0.services.0.id': service,
    'cards.0.services.1.id': '',
    ...more,
  });

  it('is previewed without being saved', async () => {
    const preview = await writer.post('/pages/status/preview', fields());
    expect(preview.status).toBe(200);
    expect(textOf(preview.body)).toContain('Shop');
    expect(preview.body).not.toContain('<script');
    expect(preview.headers['content-security-policy']).toContain("frame-ancestors 'self'");
    expect(preview.headers['x-frame-options']).toBe('SAMEORIGIN');
    const unfinished = await writer.post('/pages/status/preview', fields({ url: '-' }));
    expect(textOf(unfinished.body)).toContain('Not a page yet url: Must be 1 to 63');
    const stranger = await writer.post(
      '/pages/status/preview',
      fields({ 'cards.0.services.0.id': '3f2b1c5e-8d7a-4c1e-9b57-0f6f4d1d2a3b' }),
    );
    expect(stranger.status).toBe(404);
    expect((await harness.call('GET', '/v1/public/status-pages/shop')).status).toBe(404);
  });

  it('is arranged by buttons that need no scripts', async () => {
    const added = await writer.post('/pages/status/arrange?act=add', fields());
    expect(added.body).toContain('name="cards.1.name"');
    const moved = await writer.post('/pages/status/arrange?act=1.up', fields({ 'cards.1.name': 'First' }));
    expect(moved.body).toMatch(/name="cards\.0\.name"[^>]* value="First"/);
    expect(moved.body).toMatch(/name="cards\.1\.services\.0\.id"/);
  });

  it('is saved with its colours, refused with a message, and deleted', async () => {
    const wrong = await writer.post(
      '/pages/status/new',
      fields({ url: 'no page', customDomain: 'x', name: '' }),
    );
    expect(wrong.status).toBe(422);
    for (const name of ['url', 'customDomain', 'name']) {
      expect(wrong.body).toContain(`id="field-${name}-error"`);
    }
    const page = await writer.get('/pages/status/new');
    const colours = [...page.body.matchAll(/name="(themeColors\.[\w.]+)" type="color" value="([^"]+)"/g)].map(
      ([, name = '', value = '']) => [name, value],
    );
    expect(colours).toHaveLength(24);
    const made = await writer.post(
      '/pages/status/new',
      fields({ themeColors: 'object', ...Object.fromEntries(colours) }),
    );
    expect(made.status).toBe(303);
    const path = (made.headers['location'] ?? '').split('?')[0] ?? '';
    expect((await reader.get('/status/shop')).status).toBe(200);
    const stored = (await harness.call('GET', `/v1/status-pages/${path.split('/').at(-1)}`)).body;
    expect(stored.themeColors.light.linkFontColor).toBe('#0A56C2');
    const editor = await writer.get(path);
    const badge = await reader.get('/v1/badges/status-pages/SHOP');
    expect(badge.headers['content-type']).toContain('image/svg+xml');
    expect(badge.body).toContain('operational');
    expect(badge.body).not.toContain('<script>');
    expect(editor.body).not.toContain('<script>alert');
    expect(editor.headers['content-security-policy']).toContain("frame-src 'self'");
    const saved = await writer.post(
      path,
      fields({ 'cards.0.id': stored.cards[0].id, customDomain: 'Status.Acme.test' }),
    );
    expect(saved.status).toBe(303);
    const after = (await harness.call('GET', `/v1/status-pages/${stored.id}`)).body;
    expect(after).toMatchObject({ themeColors: null, customDomain: 'status.acme.test' });
    expect(after.cards[0].id).toBe(stored.cards[0].id);
    expect((await reader.get(path)).status).toBe(403);
    expect((await writer.post('/pages/status/new', fields())).status).toBe(409);
    expect((await writer.post(`${path}/delete`, { csrf })).status).toBe(303);
    expect((await writer.get(path)).status).toBe(404);
  });

  it('is made private with a key shown once', async () => {
    const fields = { csrf, name: 'Inside', url: 'inside', isPrivate: 'true' };
    const made = await writer.post('/pages/status/new', fields);
    const key = />(sp_\w+)</.exec(made.body)?.[1] ?? '';
    expect((await reader.get(`/status/inside?key=${key}`)).status).toBe(200);
    expect((await reader.get('/status/inside')).status).toBe(401);
    const [{ id }] = (await harness.call('GET', '/v1/status-pages')).body.entries;
    const page = await writer.get(`/pages/status/${id}`);
    expect(page.body).not.toContain(key);
    expect(textOf(page.body)).toContain(`...${key.slice(-4)}`);
    expect(page.body).not.toContain('/v1/badges/');
    expect((await writer.post(`/pages/status/${id}`, fields)).status).toBe(303);
    expect(textOf((await reader.get('/pages/status')).body)).toContain('With a key');
    await harness.call('DELETE', `/v1/status-pages/${id}`);
  });

  it('has subscribers, which its owner adds and removes', async () => {
    const cards = [{ name: 'Core', services: [{ id: service }] }];
    const { id } = (await harness.call('POST', '/v1/status-pages', { name: 'Told', url: 'told', cards }))
      .body;
    const path = `/pages/status/${id}/subscribers`;
    const wrong = await writer.post(path, { csrf, addresses: 'ann@example.com\nno address' });
    expect(wrong.status).toBe(422);
    expect(wrong.body).toContain('Line 2');
    const added = await writer.post(path, { csrf, addresses: 'ann@example.com\r\n\r\nbea@example.com' });
    expect(textOf(added.body)).toContain('2 addresses subscribed.');
    const list = await reader.get(path);
    expect(textOf(list.body)).toContain('2 addresses subscribed to incidents');
    expect(list.body).not.toContain('Subscribe addresses');
    const [, remove = ''] = /action="([^"]+\/delete)"/.exec(added.body) ?? [];
    await writer.post(remove, { csrf });
    expect(textOf((await reader.get(path)).body)).toContain('1 address subscribed to incidents');
  });
});

describe('a dashboard', () => {
  it('is previewed with its own style, saved, made private with a key shown once, and deleted', async () => {
    const fields = {
      csrf,
      header: hostile,
      customUrl: 'wall',
      tags: 'shop',
      refreshRate: '300',
      paginationRate: '60',
      width: 'FULL',
      checksPerPage: '5',
      customCSS: 'h1 { color: red } </style><script>alert(1)</script>',
    };
    const preview = await writer.post('/pages/dashboards/preview', fields);
    expect(preview.status).toBe(200);
    const nonce = /<style nonce="([^"]+)">/.exec(preview.body)?.[1] ?? '';
    expect(preview.headers['content-security-policy']).toContain(`'nonce-${nonce}'`);
    // Unescaped text stays inside the style element, where it is not markup.
    expect(preview.body.split('</style>')).toHaveLength(2);
    const wrong = await writer.post('/pages/dashboards/new', {
      ...fields,
      refreshRate: '7',
      checksPerPage: '99',
    });
    expect(wrong.status).toBe(422);
    expect(wrong.body).toContain('id="field-checksPerPage-error"');
    const made = await writer.post('/pages/dashboards/new', fields);
    expect(made.status).toBe(303);
    const path = (made.headers['location'] ?? '').split('?')[0] ?? '';
    const [stored] = (await harness.call('GET', '/v1/dashboards')).body;
    expect(stored).toMatchObject({ refreshRate: 300, checksPerPage: 5, tags: ['shop'], isPrivate: false });
    const secret = await writer.post(path, { ...fields, isPrivate: 'true' });
    const key = />(da_\w+)</.exec(secret.body)?.[1] ?? '';
    expect((await reader.get(`/dashboards/wall?key=${key}`)).status).toBe(200);
    expect((await writer.get(path)).body).not.toContain(key);
    expect((await writer.post(path, { ...fields, isPrivate: 'true' })).status).toBe(303);
    expect(textOf((await reader.get('/pages/dashboards')).body)).toContain('With a key');
    expect((await reader.get(path)).status).toBe(403);
    expect((await writer.post(`${path}/delete`, { csrf })).status).toBe(303);
  });
});
