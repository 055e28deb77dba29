import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resources } from '../../../src/service/resources/index.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const hostile = `"><script>alert(1)</script>'&{{x}}`;
let harness: ServiceHarness;
let writer: Visitor;
let reader: Visitor;
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
beforeAll(async () => {
  harness = await openHarness({ clock });
  writer = await loggedIn(harness);
  reader = await loggedIn(harness, 'READ_ONLY');
});
afterAll(() => harness.close());

describe('every resource of the account', () => {
  const names = Object.entries(resources).flatMap(([name, { api }]) =>
    name === 'windows' ? [] : [api.plural.replaceAll(' ', '-')],
  );

  it.each(names)('has a table and a form: %s', async (plural) => {
    const list = await writer.get(`/settings/${plural}`);
    expect(list.status).toBe(200);
    expect(list.body).toContain(`href="/settings/${plural}/new"`);
    expect((await writer.get(`/settings/${plural}/new`)).body).toContain('<form class="form"');
    const empty = await writer.post(`/settings/${plural}/new`, { csrf: await writer.csrf() });
    expect(empty.status).toBe(422);
    expect(empty.body).toContain('class="error"');
    const read = await reader.get(`/settings/${plural}`);
    expect(read.body).not.toContain(`/settings/${plural}/new`);
    const refused = await reader.post(`/settings/${plural}/new`, { csrf: await reader.csrf() });
    expect(refused.status).toBe(403);
  });
});

describe('a variable', () => {
  it('is created, changed and deleted, and its secret value is never shown', async () => {
    const csrf = await writer.csrf();
    const fields = { key: 'TOKEN', value: 's3cret-value', secret: 'true' };
    const made = await writer.post('/settings/variables/new', { csrf, ...fields });
    expect(made.headers['location']).toBe('/settings/variables/TOKEN/details');
    const list = await reader.get('/settings/variables');
    expect(list.body).toContain('never shown');
    const page = await writer.get('/settings/variables/TOKEN/details');
    expect(list.body + page.body).not.toContain('s3cret-value');
    // An empty secret field keeps the secret.
    const saved = await writer.post('/settings/variables/TOKEN/details', { csrf, value: '', secret: 'true' });
    expect(saved.headers['location']).toBe('/settings/variables');
    expect((await harness.store.variables.find(harness.accountId, 'TOKEN'))?.value).toBe('s3cret-value');
    const opened = await writer.post('/settings/variables/TOKEN/details', { csrf, value: '' });
    expect(opened.status).toBe(422);
    expect(opened.body).toContain('Cannot become false');
    const again = await writer.post('/settings/variables/new', { csrf, ...fields });
    expect(again.status).toBe(409);
    expect(again.body).toContain('already');
    expect(again.body).toContain('value="TOKEN"');
    expect((await writer.post('/settings/variables/TOKEN/delete', { csrf })).status).toBe(303);
    expect((await writer.get('/settings/variables/TOKEN/details')).status).toBe(404);
  });

  it('shows hostile text as text, also to readers', async () => {
    const csrf = await writer.csrf();
    await writer.post('/settings/variables/new', { csrf, key: 'new', value: hostile });
    const seen = [
      await reader.get('/settings/variables'),
      await reader.get('/settings/variables/new/details'),
      await writer.get('/settings/variables/new/details'),
      await writer.post('/settings/variables/new', { csrf, key: hostile, value: hostile }),
    ];
    for (const { body } of seen) expect(body).not.toContain('<script>alert');
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 200, 422]);
    expect(seen[1]?.body).not.toContain('<textarea');
    expect(seen[3]?.body).toMatch(/id="field-key-error">Must be letters/);
  });
});

it('a certificate shows its expiry, and neither its key nor refused input', async () => {
  const { cert, key } = await (await createAuthority()).issue();
  const csrf = await writer.csrf();
  const path = '/settings/client-certificates';
  const wrong = await writer.post(`${path}/new`, { csrf, host: 'a.test', cert: 'no PEM', key, ca: '' });
  expect(wrong.status).toBe(422);
  expect(wrong.body).toMatch(/id="field-cert-error">Must be one or more certificates/);
  expect(wrong.body).not.toContain('PRIVATE KEY');
  const made = await writer.post(`${path}/new`, { csrf, host: 'a.test', cert, key, ca: '' });
  expect(made.status).toBe(303);
  const list = await reader.get(path);
  expect(list.body).toMatch(/Expired .* ago|expires in [\d,]+ day|Expires (in \d+ day|within a day)/);
  const page = await writer.get(made.headers['location'] ?? '');
  expect(page.body).toContain('BEGIN CERTIFICATE');
  expect(page.body).not.toContain('PRIVATE KEY');
  expect(page.body).not.toContain('>Save<');
});

it('an objective belongs to a selected check, and shows its state', async () => {
  const csrf = await writer.csrf();
  const fields = { csrf, name: hostile, tags: 'shop\npay', target: '99.9', windowDays: '30' };
  const none = await writer.post('/settings/slos/new', { ...fields, tags: '' });
  expect(none.body).toMatch(/id="field-checkId-error"/);
  const made = await writer.post('/settings/slos/new', fields);
  const { id, burnAlert } = (await harness.call('GET', '/v1/slos')).body[0];
  expect(burnAlert.enabled).toBe(false);
  const burning = { ...fields, 'burnAlert.enabled': 'true', 'burnAlert.percentInHour': '7' };
  expect((await writer.post(`/settings/slos/${id}/details`, burning)).status).toBe(303);
  expect((await harness.call('GET', `/v1/slos/${id}`)).body.burnAlert).toMatchObject({
    enabled: true,
    percentInHour: 7,
  });
  const page = await reader.get(made.headers['location'] ?? '');
  expect(page.body).toContain('Not measured');
  expect(page.body).toContain('pay');
  expect(page.body).not.toContain('<script>alert');
});

it('runtimes show which locations have them', async () => {
  const location = await createLocation(harness, 'lab');
  await new TestAgent(harness, location).claim({ runtimes: ['2025.04'] });
  const { body } = await reader.get('/settings/runtimes');
  const row = body.slice(body.indexOf('<code>2025.04</code>'), body.indexOf('<code>2024.09</code>'));
  expect(row).toContain(`href="/locations/${location.id}"`);
  expect(body.match(/no location/g)?.length).toBeGreaterThan(3);
});
