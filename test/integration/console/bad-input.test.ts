import { afterAll, beforeAll, expect, it } from 'vitest';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { addMember, memberLoggedIn } from '../../helpers/service/members.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';

let harness: ServiceHarness;
let agent: TestAgent;
beforeAll(async () => {
  harness = await openHarness();
  agent = new TestAgent(harness, await createLocation(harness, 'lab'));
  await agent.claim();
});
afterAll(() => harness.close());

it('a name of 10,000 characters is refused at its field; stored values are truncated', async () => {
  const writer = await loggedIn(harness);
  const csrf = await writer.csrf('/checks/new?type=URL');
  const name = '长'.repeat(10_000);
  const asked = { csrf, $type: 'URL', $do: 'save', name, 'request.url': 'https://shop.test/' };
  const { status, body } = await writer.post('/checks/new', { ...asked, privateLocations: 'lab' });
  expect(status).toBe(422);
  expect(body).toMatch(/id="field-name-error">[^<]*255/);
  expect(body).toContain(name);
  const { id } = await createCheck(harness, { name: '长'.repeat(255), privateLocations: ['lab'] });
  for (const path of ['/', `/checks/${id}`, `/checks/${id}/edit`]) {
    expect((await writer.get(path)).status, path).toBe(200);
  }
});

it('a search of 10,000 characters, and invalid numbers, are answered with a page', async () => {
  const reader = await loggedIn(harness, 'READ_ONLY');
  const paths = [
    `/?q=${'%25'.repeat(3_000)}`,
    '/?page=99999999999999999999&group=x&state=no-such&type=%00',
    '/?page=-1&by=group&tag=%F0%9F%92%A9',
    '/account/audit?nextId=x&from=never',
    '/alerts/notifications?page=1e9',
  ];
  for (const path of paths) {
    const { status, body } = await reader.get(path);
    expect([path, status]).toEqual([path, 200]);
    expect(body).toContain('</html>');
  }
});

it('a result of 25 MB is a page of a few hundred kilobytes that links to the rest', async () => {
  const check = await createCheck(harness, {
    name: 'large',
    privateLocations: ['lab'],
    retryStrategy: null,
    doubleCheck: false,
  });
  await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
  const runs = await agent.claim();
  const large = httpDetail();
  large.response.body = '<b>0123456789</b>\n'.repeat(1_400_000);
  await agent.report(runs.map((run) => reportOf(run, { detail: large })));
  const reader = await loggedIn(harness, 'READ_ONLY');
  const path = `/checks/${check.id}/runs/${runs[0]?.resultId}`;
  const { status, body } = await reader.get(path);
  expect(status).toBe(200);
  expect(body.length).toBeLessThan(600_000);
  expect(body).toMatch(/The first 64 KiB of \d+\. The API returns all of it/);
  expect(body).not.toContain('<b>0123456789');
});

it('an expired session leads to the login and back, from pages, forms and parts of pages', async () => {
  const writer = await loggedIn(harness);
  const csrf = await writer.csrf('/checks/new?type=URL');
  await harness.store.logins.deleteExpired(Number.MAX_SAFE_INTEGER);
  const page = await writer.get('/alerts?x=1');
  expect([page.status, page.headers['location']]).toEqual([303, '/login?next=%2Falerts%3Fx%3D1']);
  const form = await writer.post('/checks/new', { csrf, $do: 'save' });
  expect([form.status, form.headers['location']]).toEqual([303, '/login']);
  const part = await writer.post('/checks/new', { csrf }, { headers: { 'hx-request': 'true' } });
  expect([part.status, part.headers['hx-redirect']]).toEqual([401, '/login']);
  expect((await writer.get('/live?since=0')).status).toBe(401);
});

it('a reduced role ends the session: an older form changes nothing', async () => {
  await addMember(harness, 'ada@example.com', 'ADMIN');
  const bob = await addMember(harness, 'bob@example.com', 'READ_WRITE');
  const { id } = await createCheck(harness, { name: 'stays', privateLocations: ['lab'] });
  const visitor = await memberLoggedIn(harness, 'bob@example.com');
  const csrf = await visitor.csrf(`/checks/${id}/edit`);
  await harness.call('PATCH', `/v1/accounts/me/members/${bob}`, { role: 'READ_ONLY' });
  const refused = await visitor.post(`/checks/${id}/delete`, { csrf });
  expect([refused.status, refused.headers.location]).toEqual([303, '/login']);
  const again = await memberLoggedIn(harness, 'bob@example.com');
  const overview = await again.get('/');
  expect(overview.status).toBe(200);
  expect(overview.body).not.toContain('/checks/new');
  expect((await harness.call('GET', `/v1/checks/${id}`)).status).toBe(200);
});
