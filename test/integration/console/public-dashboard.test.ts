import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { createCheck, openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { Visitor } from '../../helpers/service/visitor.ts';

// A clock that can be advanced: responses are cached for ten seconds.
let aheadMs = 0;
const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>'&amp;\u202e`;

let harness: ServiceHarness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ clock });
  visitor = new Visitor(harness.app);
  await createCheck(harness, { name: 'never run', tags: ['grey'] });
  await createCheck(harness, { name: `named ${hostile}`, tags: ['hostile', hostile] });
});
afterAll(() => harness.close());

async function call(method: string, path: string, body?: unknown, key?: string) {
  const answer = await harness.call(method, path, body, key === undefined ? {} : { key });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
const addDashboard = (customUrl: string, more: object = {}) =>
  call('POST', '/v1/dashboards', { header: `Board ${customUrl}`, customUrl, ...more });
const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

describe('a dashboard', () => {
  it('shows the checks of its account and tags, and shows no unmeasured check as passing', async () => {
    await addDashboard('grey', { tags: ['grey'] });
    const { status, body, headers } = await visitor.get('/dashboards/GREY');
    expect(status).toBe(200);
    expect(textOf(body)).toContain('None failing; 1 of 1 check not run yet');
    expect(textOf(body)).toMatch(/never run · No run yet/);
    expect(textOf(body)).toMatch(/24 h not measured/);
    expect(body).not.toMatch(/day-known" x="\d+" y="[^"]*" width="14" height="[1-9]|bar-passed|100 %|named/);
    expect(headers['cache-control']).toMatch(/^public, max-age=10, .*stale-if-error/);
    expect(headers['refresh']).toBe('60');
    const other = await harness.addAccount();
    await call('POST', '/v1/dashboards', { header: 'Theirs', customUrl: 'theirs' }, other.key);
    expect(textOf((await visitor.get('/dashboards/theirs')).body)).toMatch(
      /No check has the tags of the dashboard/,
    );
  });

  it('shows hostile text of every field as text', async () => {
    const board = await addDashboard('hostile', {
      header: hostile,
      description: hostile,
      tags: ['hostile'],
      link: 'https://example.com/?"><script>',
      enableIncidents: true,
    });
    await call('POST', '/v1/incidents', {
      dashboardId: board.dashboardId,
      name: hostile,
      impact: 'MAJOR',
      startedAt: new Date(Date.now() - 60_000).toISOString(),
      incidentUpdates: [{ status: 'INVESTIGATING', description: hostile }],
    });
    const { body } = await visitor.get('/dashboards/hostile');
    expect(body.match(/<script/g)).toHaveLength(1);
    expect(body).not.toMatch(/<img src=x|\u202e|\sstyle=/);
    expect(body.match(/&lt;script&gt;alert\(1\)/g)?.length).toBeGreaterThanOrEqual(7);
    expect(textOf(body)).toContain('Open incidents');
  });

  it('has pages, which wall screens turn by themselves, and the rules of its owner', async () => {
    for (let count = 0; count < 3; count += 1)
      await createCheck(harness, { name: `many ${count}`, tags: ['many'] });
    await addDashboard('many', {
      tags: ['many'],
      checksPerPage: 2,
      paginationRate: 30,
      customCSS: 'h3 { color: teal }',
      showHeader: false,
    });
    const first = await visitor.get('/dashboards/many');
    expect(textOf(first.body)).toMatch(/Page 1 of 2/);
    expect(first.headers['refresh']).toBe('30; url=/dashboards/many?page=2');
    expect(first.body).not.toContain('public-top');
    expect((await visitor.get('/dashboards/many?page=2')).headers['refresh']).toBe(
      '30; url=/dashboards/many?page=1',
    );
    const css = await visitor.get('/dashboards/many/custom.css');
    expect(css.headers['content-type']).toBe('text/css; charset=utf-8');
    expect(css.body).toBe('h3 { color: teal }');
    expect((await visitor.get('/dashboards/grey/custom.css')).status).toBe(404);
    expect((await visitor.get('/dashboards/nowhere')).body).toContain('<h1>Not found</h1>');
  });
});

describe('a private dashboard', () => {
  let key: string;
  beforeAll(async () => {
    const board = await addDashboard('private', { tags: ['grey'], isPrivate: true });
    key = board.keys[0].rawKey;
    await addDashboard('elsewhere', { isPrivate: true });
  });

  it('requires its key, and is shown to no other visitor after the key was used', async () => {
    const opened = await visitor.get(`/dashboards/private?key=${key}`);
    expect(opened.body).toContain('never run');
    expect(opened.headers['cache-control']).toBe('private, no-store');
    for (const path of ['/dashboards/private', '/dashboards/private/custom.css']) {
      const asked = await visitor.get(path);
      expect(asked.status).toBe(401);
      expect(asked.body).toContain('This dashboard is private');
      expect(asked.body).not.toContain('never run');
    }
    expect((await visitor.get('/dashboards/private?key=da_wrong')).status).toBe(403);
    expect((await visitor.get(`/dashboards/elsewhere?key=${key}`)).status).toBe(403);
  });

  it('takes the key in a form, and keeps it out of addresses', async () => {
    const reader = new Visitor(harness.app);
    const wrong = await reader.post('/dashboards/private/key', { key: 'da_wrong; Path=/x' });
    expect(wrong.status).toBe(403);
    expect(wrong.headers['set-cookie']).toBeUndefined();
    expect((await reader.post('/dashboards/private/key', { key: 'da_wrong' })).status).toBe(403);
    const foreign = { headers: { 'sec-fetch-site': 'cross-site' } };
    expect((await reader.post('/dashboards/private/key', { key }, foreign)).status).toBe(403);
    const answer = await reader.post('/dashboards/private/key', { key });
    expect([answer.status, answer.headers['location']]).toEqual([303, '/dashboards/private']);
    expect(answer.headers['set-cookie']).toMatch(/HttpOnly; SameSite=Lax/);
    const page = await reader.get('/dashboards/private');
    expect(page.body).toContain('never run');
    expect(page.body).not.toContain(key);
  });

  it('closes to a key that was replaced', async () => {
    const board = await addDashboard('closing', { isPrivate: true });
    const path = `/dashboards/closing?key=${board.keys[0].rawKey}`;
    expect((await visitor.get(path)).status).toBe(200);
    await call('PUT', `/v1/dashboards/${board.dashboardId}`, { isPrivate: false });
    await call('PUT', `/v1/dashboards/${board.dashboardId}`, { isPrivate: true });
    aheadMs += 10_000;
    expect((await visitor.get(path)).status).toBe(403);
  });
});

it('is served from memory when the database is unavailable, to previous visitors only', async () => {
  const broken = await openHarness({ clock });
  onTestFinished(() => broken.close());
  const reader = new Visitor(broken.app);
  const open = await broken.call('POST', '/v1/dashboards', { header: 'Open', customUrl: 'open' });
  const shut = await broken.call('POST', '/v1/dashboards', {
    header: 'Shut',
    customUrl: 'shut',
    isPrivate: true,
  });
  const keyed = `/dashboards/shut?key=${shut.body.keys[0].rawKey}`;
  expect(open.status).toBe(201);
  for (const path of ['/dashboards/open', keyed]) expect((await reader.get(path)).status).toBe(200);
  aheadMs += 10_000;
  await broken.store.close();
  for (const path of ['/dashboards/open', keyed]) {
    expect(textOf((await reader.get(path)).body)).toContain('State as of');
  }
  const asked = await reader.get('/dashboards/shut');
  expect(asked.status).toBeGreaterThanOrEqual(500);
  expect(asked.body).not.toContain('Shut');
});
