import { afterAll, beforeAll, expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

const hostile = `"><script>alert(1)</script>'&{{x}}`;
const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
let harness: ServiceHarness;
let writer: Visitor;
let reader: Visitor;
let csrf: string;
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
beforeAll(async () => {
  harness = await openHarness({ clock, publicUrl: 'https://picket.example.com' });
  writer = await loggedIn(harness);
  reader = await loggedIn(harness, 'READ_ONLY');
  csrf = await writer.csrf();
});
afterAll(() => harness.close());

const entries = async (what: string) => (await harness.call('GET', `/v1/status-pages/${what}`)).body.entries;

it('creates a page of components in the browser, announces on it, and shows it publicly', async () => {
  expect((await reader.get('/pages/status')).body).not.toContain('version=3');
  const form = await writer.get('/pages/status/new?version=3');
  expect(form.body).not.toContain('cards.0.name');
  const fields = {
    ...{
      csrf,
      version: '3',
      name: 'Acme',
      url: 'acme',
      footerText: hostile,
      supportLink: 'https://acme.test/help',
    },
    ...{
      logo: 'https://img.test/light.svg',
      logoDark: 'https://dark.test/dark.svg',
      googleAnalyticsTag: 'G-ABC1234',
    },
  };
  const made = await writer.post('/pages/status/new', fields);
  const path = (made.headers['location'] ?? '').split('?')[0] ?? '';
  expect(textOf((await writer.get(path)).body)).toContain('No components yet');
  const component = (more: object) => ({ csrf, description: '', ...more });
  const wrong = await writer.post(`${path}/components/new`, component({ name: '' }));
  expect([wrong.status, wrong.body.includes('id="field-name-error"')]).toEqual([422, true]);
  await writer.post(`${path}/components/new`, component({ name: 'Shop', type: 'GROUP' }));
  const [group] = await entries('components');
  const history = { 'configuration.showHistoricalData': 'true' };
  const leaf = component({ name: hostile, parentId: group.id, ...history });
  expect((await writer.post(`${path}/components/new`, leaf)).status).toBe(303);
  const cart = (await entries('components')).find(({ name }: { name: string }) => name === hostile);
  expect(cart).toMatchObject({ parentId: group.id, configuration: { showHistoricalData: true } });
  const editor = await writer.get(path);
  expect(editor.body).not.toContain('<script>alert');
  expect((await writer.get(`${path}/components/${cart.id}`)).body).toContain(`value="${group.id}" selected`);
  const into = await writer.post(
    `${path}/components/${group.id}`,
    component({ name: 'Shop', parentId: cart.id }),
  );
  expect([into.status, textOf(into.body).includes('Must name a GROUP')]).toEqual([422, true]);

  // Components move up and down among their siblings.
  await writer.post(`${path}/components/new`, component({ name: 'Mail' }));
  type Listed = { name: string; parentId: string | null; displayOrder: number };
  const order = async () =>
    (await entries('components'))
      .filter(({ parentId }: Listed) => parentId === null)
      .sort((one: Listed, other: Listed) => one.displayOrder - other.displayOrder)
      .map(({ name }: Listed) => name);
  expect(await order()).toEqual(['Shop', 'Mail']);
  expect((await writer.post(`${path}/components/${group.id}/down`, { csrf })).status).toBe(303);
  expect(await order()).toEqual(['Mail', 'Shop']);
  for (const to of ['up', 'up', 'down', 'up'])
    await writer.post(`${path}/components/${group.id}/${to}`, { csrf });
  expect(await order()).toEqual(['Shop', 'Mail']);

  const rule = {
    ...{ csrf, name: 'Trouble', enabled: 'true', tags: 'shop\neu', firstUpdate: 'a', lastUpdate: 'b' },
    ...{ coolDownWindowMinutes: '7', [`impact.${cart.id}`]: 'MAJOR_OUTAGE', [`impact.${group.id}`]: '' },
  };
  expect((await writer.post(`${path}/rules/new`, { ...rule, tags: '' })).status).toBe(422);
  expect((await writer.post(`${path}/rules/new`, rule)).status).toBe(303);
  const [stored] = await entries('automation-rules');
  expect(stored).toMatchObject({
    ...{ tags: ['shop', 'eu'], coolDownWindowMinutes: 7, notifySubscribers: false, enabled: true },
    components: [{ componentId: cart.id, targetImpact: 'MAJOR_OUTAGE' }],
  });
  expect((await writer.get(`${path}/rules/${stored.id}`)).body).toContain('value="MAJOR_OUTAGE" selected');
  await writer.post(`${path}/rules/${stored.id}`, { ...rule, name: 'Big trouble' });
  expect(textOf((await writer.get(path)).body)).toContain('Big trouble');
  expect((await reader.get(`${path}/rules/${stored.id}`)).status).toBe(403);

  const announced = await writer.post('/pages/incidents/new', {
    ...{ csrf, name: 'Down', severity: 'MAJOR', [`impact.${cart.id}`]: 'PARTIAL_OUTAGE' },
    ...{ 'incidentUpdates.0.status': 'INVESTIGATING', 'incidentUpdates.0.description': 'looking' },
  });
  expect(announced.status).toBe(303);
  const incident = announced.headers['location'] ?? '';
  expect(textOf((await reader.get(incident)).body)).toContain('Partial outage');
  clock.advance(60_000);
  const page = await reader.get('/status/acme');
  const text = textOf(page.body);
  expect(text).toContain('Partial outage');
  expect(text).toContain('Support');
  expect(page.body).not.toContain('<script>alert');
  expect(page.body).toContain(
    '<source media="(prefers-color-scheme: dark)" srcset="https://dark.test/dark.svg">',
  );
  // Groups with problems are open by default.
  expect(page.body).toMatch(/<details class="component-group" open>/);
  const policy = String(page.headers['content-security-policy']);
  expect(policy).toContain("script-src 'self' https://www.googletagmanager.com;");
  expect(policy).toContain('https://dark.test');
  expect(page.body).toContain('data-tag="G-ABC1234"');
  // Search engines may not index it: the form did not allow it.
  expect([page.headers['x-robots-tag'], page.body.includes('content="noindex"')]).toEqual(['noindex', true]);
  const preview = await writer.post('/pages/status/preview', {
    ...fields,
    statusPageId: path.split('/').at(-1) ?? '',
  });
  expect(textOf(preview.body)).toContain('Shop');
  expect(preview.body).not.toContain('<script');

  expect((await writer.post(`${path}/rules/${stored.id}/delete`, { csrf })).status).toBe(303);
  expect((await writer.post(`${path}/components/${cart.id}/delete`, { csrf })).status).toBe(303);
  expect(await order()).toEqual(['Shop', 'Mail']);
});

it('keeps foreign scripts off a page of cards, and lets it be indexed', async () => {
  const { id } = (await harness.call('POST', '/v1/status-pages', { name: 'Plain', url: 'plain', cards: [] }))
    .body;
  for (const form of ['components/new', 'rules/new']) {
    expect((await writer.get(`/pages/status/${id}/${form}`)).status).toBe(404);
  }
  const page = await reader.get('/status/plain');
  expect(page.headers['x-robots-tag']).toBeUndefined();
  expect(page.headers['content-security-policy']).toContain("script-src 'self';");
  expect(page.body).not.toContain('google');
});
