import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createCheck,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

let harness: ServiceHarness;
let writer: Visitor;
let csrf: string;
let receiver: Server;
const received: string[] = [];

beforeAll(async () => {
  harness = await openHarness();
  harness.startAlerting();
  writer = await loggedIn(harness);
  csrf = await writer.csrf('/account/profile');
  receiver = createServer((request, response) => {
    received.push(request.url ?? '');
    response.end('thank you');
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await harness.close();
  receiver.close();
});

const start = async () => (await writer.get('/start')).body;
/** The number of the step that is open now. */
const stepNow = (body: string) => /id="(\w+)" aria-current="step"/.exec(body)?.[1];

describe('the first steps', () => {
  it('are where an empty account begins, for those who may write', async () => {
    const { body } = await writer.get('/');
    expect(body).toContain('<a class="button primary" href="/start">Get started</a>');
    expect(body).toMatch(/<nav[^>]*>[\s\S]*href="\/start"/);
    const reader = await loggedIn(harness, 'READ_ONLY');
    expect((await reader.get('/')).body).not.toContain('href="/start"');
    expect((await reader.get('/start')).status).toBe(403);
  });

  it('create a location from a name, and show the commands with its key once', async () => {
    expect(stepNow(await start())).toBe('location');
    const made = await writer.post('/start/location', { csrf, name: 'Büro Berlin' });
    expect(made.status).toBe(200);
    const key = /API_KEY=(pl_\w+)/.exec(made.body)?.[1] ?? '';
    expect(key).not.toBe('');
    expect(made.headers['cache-control']).toBe('no-store');
    expect(made.body).toContain('Waiting for the agent');
    expect(await start()).not.toContain(key);
    const { body: locations } = await harness.call('GET', '/v1/private-locations');
    expect(locations).toMatchObject([{ name: 'Büro Berlin', slugName: 'buro-berlin' }]);
    // A key that was not copied in time is replaced: a location never has more than two.
    for (let again = 0; again < 3; again += 1) {
      const next = await writer.post('/start/key', { csrf, location: locations[0].id });
      expect(next.status).toBe(200);
      expect(next.body).toMatch(/API_KEY=pl_\w+/);
    }
    expect((await harness.call('GET', '/v1/private-locations')).body[0].keys).toHaveLength(2);
  });

  it('go on by themselves when the agent appears', async () => {
    const { body: locations } = await harness.call('GET', '/v1/private-locations');
    const { id } = locations[0];
    const { body: key } = await writer.post('/start/key', { csrf, location: id });
    const rawKey = /API_KEY=(pl_\w+)/.exec(key)?.[1] ?? '';
    await new TestAgent(harness, { id, key: rawKey } as never).claim();
    const answer = await harness.app.inject({
      url: `/start?location=${id}`,
      headers: { cookie: writer.cookieHeader(), 'hx-request': 'true', 'hx-target': 'p#agent-dot' },
    });
    expect(answer.headers['hx-retarget']).toBe('#main');
    expect(answer.body).toContain('1 agent connected');
    expect(stepNow(answer.body)).toBe('check');
  });

  it('create a check from an address without a scheme, and run it at once', async () => {
    const refused = await writer.post('/start/check', { csrf, url: 'http://', at: 'buro-berlin' });
    expect(refused.status).toBe(422);
    expect(refused.body).toMatch(/field-wrong/);
    const made = await writer.post('/start/check', { csrf, url: 'shop.example.com/cart', at: 'buro-berlin' });
    expect(made.status).toBe(303);
    const { body: checks } = await harness.call('GET', '/v1/checks');
    expect(checks).toMatchObject([
      { name: 'shop.example.com/cart', checkType: 'URL', request: { url: 'https://shop.example.com/cart' } },
    ]);
    const page = await writer.get(made.headers['location'] ?? '');
    expect(page.body).toContain('Saved. Running now.');
    expect(page.body).toContain('id="first-run"');
    expect(stepNow(page.body)).toBe('channel');
  });

  it('create a channel of the right type, subscribed to the check, and send a test', async () => {
    const { body: checks } = await harness.call('GET', '/v1/checks');
    const wrong = await writer.post('/start/channel', { csrf, to: 'nothing', check: checks[0].id });
    expect(wrong.status).toBe(422);
    expect(wrong.body).toContain('Must be a mail address, or a URL with https://');
    const { port } = receiver.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/hook`;
    const made = await writer.post('/start/channel', { csrf, to: url, check: checks[0].id });
    expect(made.status).toBe(303);
    const { body: channels } = await harness.call('GET', '/v1/alert-channels');
    expect(channels).toMatchObject([
      { type: 'WEBHOOK', config: { url }, subscriptions: [{ checkId: checks[0].id, activated: true }] },
    ]);
    const page = await writer.get(made.headers['location'] ?? '');
    expect(page.body).toMatch(/The test (arrived|failed)/);
    expect(stepNow(page.body)).toBe('page');
  });

  it('publish a status page that follows the check, and then leave the navigation', async () => {
    const refused = await writer.post('/start/page', { csrf, name: 'Status', url: '-' });
    expect(refused.status).toBe(422);
    // The service of the refused page is not left behind.
    expect((await harness.call('GET', '/v1/status-pages/services')).body.entries).toEqual([]);
    const made = await writer.post('/start/page', { csrf, name: 'Status', url: 'shop' });
    expect(made.status).toBe(303);
    const { body: checks } = await harness.call('GET', '/v1/checks');
    expect(checks[0].triggerIncident).toMatchObject({ severity: 'MAJOR' });
    expect((await writer.get('/status/shop')).body).toContain('shop.example.com/cart');
    const page = await writer.get('/start');
    expect(page.body).toContain('All steps are done.');
    expect(page.body).toContain('href="/status/shop"');
    await new Promise((resolve) => setTimeout(resolve, 3_100));
    expect((await writer.get('/')).body).not.toContain('href="/start"');
  });
});

describe('steps', () => {
  it('are skipped and dismissed in this browser only', async () => {
    const { key } = await harness.addAccount();
    const visitor = await loggedIn(harness, undefined, key);
    const token = await visitor.csrf('/account/profile');
    await visitor.post('/start/choose', { csrf: token, choice: 'location' });
    await visitor.post('/start/choose', { csrf: token, choice: 'check' });
    expect(stepNow((await visitor.get('/start')).body)).toBe('channel');
    const { body } = await visitor.get('/start?step=check');
    expect(stepNow(body)).toBe('check');
    expect(
      (await visitor.post('/start/choose', { csrf: token, choice: 'dismissed' })).headers['location'],
    ).toBe('/');
    expect((await visitor.get('/sessions')).body).not.toContain('href="/start"');
    const other = await loggedIn(harness, undefined, key);
    expect((await other.get('/sessions')).body).toContain('href="/start"');
  });
});

describe('examples', () => {
  it('are hidden and deleted with one click each', async () => {
    await createCheck(harness, { name: 'an example', tags: ['example'] });
    await createCheck(harness, { name: 'another example', tags: ['example', 'x'] });
    const shown = await writer.get('/');
    expect(shown.body).toContain('2 checks are examples');
    expect(shown.body).toContain('another example');
    await writer.post('/start/choose', { csrf, choice: 'no-examples' });
    const hidden = await writer.get('/');
    expect(hidden.body).toContain('2 checks are examples, hidden');
    expect(hidden.body).not.toContain('another example');
    expect(hidden.body).toContain('shop.example.com/cart');
    expect((await writer.get('/?tag=example')).body).toContain('another example');
    await writer.post('/start/choose', { csrf, choice: 'no-examples', undo: 'true' });
    expect((await writer.get('/')).body).toContain('another example');
    expect((await writer.post('/start/examples/delete', { csrf })).headers['location']).toBe('/');
    const { body: left } = await harness.call('GET', '/v1/checks');
    expect(left.map(({ name }: { name: string }) => name)).toEqual(['shop.example.com/cart']);
  });
});

describe('the first result', () => {
  it('replaces the waiting line', async () => {
    const { body: checks } = await harness.call('GET', '/v1/checks');
    const { body: locations } = await harness.call('GET', '/v1/private-locations');
    const { body: shownKey } = await writer.post('/start/key', { csrf, location: locations[0].id });
    const rawKey = /API_KEY=(pl_\w+)/.exec(shownKey)?.[1] ?? '';
    const agent = new TestAgent(harness, { id: locations[0].id, key: rawKey } as never);
    const runs = await agent.claim();
    expect(runs.length).toBeGreaterThan(0);
    await agent.report(runs.map((run) => reportOf(run)));
    await expect
      .poll(async () => (await writer.get(`/start?check=${checks[0].id}`)).body)
      .toMatch(/id="first-run"[\s\S]*?Passing/);
  });
});
