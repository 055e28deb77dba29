import { afterAll, beforeAll, expect, it } from 'vitest';
import { allRoutes } from '../../../src/server/features.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
} from '../../helpers/service/service.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';

let harness: ServiceHarness;
let checkId: string;
let locationId: string;

beforeAll(async () => {
  harness = await openHarness();
  locationId = (await createLocation(harness, 'lab')).id;
  checkId = (await createCheck(harness, { privateLocations: ['lab'] })).id;
});
afterAll(() => harness.close());

it('a blank name is refused at its field, for every resource', async () => {
  const writing = allRoutes.filter(
    ({ method, body, credential, isBodyRaw, bodyContentType }) =>
      ['POST', 'PUT', 'PATCH'].includes(method) &&
      body &&
      credential === 'account' &&
      !isBodyRaw &&
      !bodyContentType,
  );
  const named = writing.filter(({ body }) =>
    body?.safeParse({ name: 5 }).error?.issues.some(({ path }) => path[0] === 'name'),
  );
  expect(named.length).toBeGreaterThan(20);
  for (const { method, path, params } of named) {
    const ids = [checkId, '1'].map((id) =>
      Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, key = '']) => [key, id])),
    );
    const fitting = ids.find((one) => params?.safeParse(one).success !== false) ?? {};
    const place = path.replaceAll(/\{(\w+)\}/g, (_whole, key: string) => fitting[key] ?? '');
    const { status, body } = await harness.call(method, place, { name: ' \u00a0\t' });
    expect([method, path, status, body.message]).toEqual([
      method,
      path,
      400,
      expect.stringContaining('"name" must not be blank'),
    ]);
  }
});

it('a blank inner name is refused, too, and in forms', async () => {
  const page = { name: 'Page', url: 'page', cards: [{ name: ' ', services: [] }] };
  const answer = await harness.call('POST', '/v1/status-pages', page);
  expect([answer.status, answer.body.validation?.keys]).toEqual([400, ['cards.0.name']]);
  for (const name of ['\u200b', '\u2800', '\u3164', ' \u202e ', '\u00ad', '\ufeff\u2060']) {
    const unseen = await harness.call('POST', '/v1/checks/url', { name, request: { url: 'http://a.test' } });
    expect([name, unseen.status, unseen.body.validation?.keys]).toEqual([name, 400, ['name']]);
  }
  const config = { name: '  ', url: 'https://hooks.example.com' };
  const channel = await harness.call('POST', '/v1/alert-channels', { type: 'WEBHOOK', config });
  expect([channel.status, channel.body.validation?.keys]).toEqual([400, ['config.name']]);
  const admin = await loggedIn(harness, 'ADMIN');
  const csrf = await admin.csrf('/locations/new');
  const form = await admin.post('/locations/new', { csrf, name: '   ', slugName: 'blank' });
  expect([form.status, form.body]).toEqual([422, expect.stringMatching(/must not be blank/i)]);
});

it('a blank name of an older version is shown, and changes of other fields are accepted', async () => {
  const location = await harness.store.locations.find(harness.accountId, locationId);
  if (!location) throw new Error('no location');
  await harness.store.locations.update({ ...location, name: ' ' });
  const path = `/v1/private-locations/${locationId}`;
  expect((await harness.call('GET', path)).body.name).toBe(' ');
  expect((await harness.call('PUT', path, { icon: 'lab' })).body).toMatchObject({ name: ' ', icon: 'lab' });
});

it('a location exists once, in any case of its slug', async () => {
  for (const slugName of ['lab', 'LAB']) {
    const answer = await harness.call('POST', '/v1/private-locations', { name: 'Another', slugName });
    expect([answer.status, answer.body.message]).toEqual([409, expect.stringContaining('"lab"')]);
  }
  const tries = ['x', 'X'].map((slugName) =>
    harness.call('POST', '/v1/private-locations', { name: 'At once', slugName }),
  );
  expect((await Promise.all(tries)).map(({ status }) => status).sort()).toEqual([201, 409]);
});

it.each(['2026-02-30', '2025-02-29', '2026-04-31T10:00:00Z', '2026-13-01', '2026-00-10'])(
  'the day %s does not exist, in any field',
  async (day) => {
    const queries = [
      `/v1/check-results/${checkId}?to=${day}`,
      `/v1/audit-log?from=${day}`,
      `/v1/private-locations/${locationId}/metrics?from=${day}&to=${day}`,
      `/v1/reporting?from=${day}&to=${day}`,
      `/v1/analytics/url-monitors/${checkId}?metrics=availability&from=${day}&to=${day}`,
    ];
    for (const path of queries) {
      const { status } = await harness.call('GET', path);
      expect([path, status]).toEqual([path, 400]);
    }
    const instant = day.includes('T') ? day : `${day}T10:00:00Z`;
    const window = { name: 'w', startsAt: instant, endsAt: '2027-01-01T00:00:00Z', repeatUnit: 'NEVER' };
    const { status, body } = await harness.call('POST', '/v1/maintenance-windows', window);
    expect([status, body.validation?.keys]).toEqual([400, expect.arrayContaining(['startsAt'])]);
  },
);

it('the last day of February exists in a leap year', async () => {
  const path = `/v1/check-results/${checkId}?from=2024-02-29&to=2024-02-29T05:00:00Z`;
  expect((await harness.call('GET', path)).status).toBe(200);
});
