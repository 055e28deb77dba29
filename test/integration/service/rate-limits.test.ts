import { afterEach, beforeEach, expect, it } from 'vitest';
import { allRoutes } from '../../../src/server/features.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let clock: ManualClock;

beforeEach(async () => {
  clock = new ManualClock();
  harness = await openHarness({ clock, requestsPerMinute: 60 });
});
afterEach(async () => {
  await harness.close();
});

const list = (key = harness.key) => harness.call('GET', '/v1/checks', undefined, { key });

it('admits a limited number of requests at once, and the next when the bucket fills again', async () => {
  for (let left = 59; left >= 0; left -= 1) {
    const { status, headers } = await list();
    expect([status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual([
      200,
      '60',
      String(left),
    ]);
  }
  const refused = await list();
  expect(refused.status).toBe(429);
  expect(refused.headers['content-type']).toContain('application/json');
  expect(refused.headers['retry-after']).toBe('1');
  expect(Number(refused.headers['x-ratelimit-reset'])).toBe(Math.ceil(clock.wallMs() / 1000 + 60));
  expect(refused.body).toEqual({
    statusCode: 429,
    error: 'Too Many Requests',
    message: expect.stringContaining('60 in 60 seconds'),
    attributes: { limit: 60, windowSeconds: 60, retryAfterSeconds: 1 },
  });
  // Refused requests cost nothing: after the announced delay, the next one passes, and only that one.
  for (let again = 0; again < 5; again += 1) await list();
  clock.advance(1000);
  expect([(await list()).status, (await list()).status]).toEqual([200, 429]);
  clock.advance(60_000);
  expect((await list()).headers['x-ratelimit-remaining']).toBe('59');
});

it('counts each key separately, and one key over all its spellings', async () => {
  for (let count = 0; count < 60; count += 1) await list();
  expect((await list()).status).toBe(429);
  const other = await harness.addKey('READ_ONLY');
  expect((await list(other)).status).toBe(200);
  const spelled = await harness.call('GET', '/v1/checks', undefined, {
    key: null,
    headers: {
      authorization: `bearer   ${harness.key} `,
      'x-service-account': harness.accountId.toUpperCase(),
    },
  });
  expect(spelled.status).toBe(429);
});

it('applies the separate limits of some routes, and counts them separately', async () => {
  const { dashboardId } = (await harness.call('POST', '/v1/dashboards', { header: 'x' })).body;
  const read = () => harness.call('GET', `/v1/dashboards/${dashboardId}`);
  for (let count = 0; count < 10; count += 1) expect((await read()).status).toBe(200);
  const refused = await read();
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '2']);
  expect((await list()).headers['x-ratelimit-remaining']).toBe('58');
  const limits = allRoutes.filter((route) => route.rateLimit).map(({ operationId }) => operationId);
  expect(limits).toEqual(expect.arrayContaining(['listCheckResults', 'getDashboard', 'getDashboardData']));
});

it('counts callers without a key by their address', async () => {
  const read = (remoteAddress: string, forwarded = '') =>
    harness.app.inject({
      method: 'GET',
      url: '/v1/public/status-pages/none',
      remoteAddress,
      headers: { 'x-forwarded-for': forwarded },
    });
  for (let count = 0; count < 60; count += 1) expect((await read('192.0.2.1')).statusCode).toBe(404);
  expect((await read('192.0.2.1')).statusCode).toBe(429);
  expect((await read('192.0.2.2')).statusCode).toBe(404);
  // A forged address does not help: no proxy is trusted here.
  expect((await read('192.0.2.1', '198.51.100.9')).statusCode).toBe(429);
});

it('counts an IPv6 network as one caller: each has more addresses than could be counted', async () => {
  const read = (remoteAddress: string) =>
    harness.app.inject({ method: 'GET', url: '/v1/public/status-pages/none', remoteAddress });
  for (let count = 0; count < 60; count += 1) {
    expect((await read(`2001:db8:1:2::${count.toString(16)}`)).statusCode).toBe(404);
  }
  expect((await read('2001:db8:1:2:ffff::1')).statusCode).toBe(429);
  expect((await read('2001:db8:1:3::1')).statusCode).toBe(404);
  // IPv4 addresses that the socket writes as IPv6 are counted separately.
  for (let count = 0; count < 61; count += 1) await read('::ffff:192.0.2.1');
  expect((await read('192.0.2.1')).statusCode).toBe(429);
  expect((await read('::ffff:192.0.2.2')).statusCode).toBe(404);
});

it('distinguishes callers behind a trusted proxy', async () => {
  const proxied = await openHarness({ clock, requestsPerMinute: 60, trustedProxies: ['192.0.2.0/24'] });
  const read = (forwarded: string) =>
    proxied.app.inject({
      method: 'GET',
      url: '/v1/public/status-pages/none',
      remoteAddress: '192.0.2.1',
      headers: { 'x-forwarded-for': forwarded },
    });
  for (let count = 0; count < 60; count += 1) await read('198.51.100.1');
  expect((await read('198.51.100.1')).statusCode).toBe(429);
  expect((await read('203.0.113.7, 198.51.100.1')).statusCode).toBe(429);
  expect((await read('198.51.100.2')).statusCode).toBe(404);
  await proxied.close();
});

it('counts the pings of each heartbeat separately, whatever their source, and unknown ones by their address', async () => {
  const tokens: string[] = [];
  for (const name of ['one', 'two']) {
    const { body } = await harness.call('POST', '/v1/checks/heartbeat', {
      name,
      heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' },
    });
    tokens.push(body.heartbeat.pingToken);
  }
  const ping = async (token: string | undefined) =>
    (await harness.call('GET', `/v1/ping/${token}`, undefined, { key: null })).status;
  const unknown = '11111111-2222-4333-8444-555555555555';
  const statuses = [];
  for (let count = 0; count < 62; count += 1)
    statuses.push(await ping(unknown.replace(/^../, String(count + 10))));
  expect(statuses.filter((status) => status === 404)).toHaveLength(60);
  expect(statuses.slice(60)).toEqual([429, 429]);
  // Jobs behind the same address have separate limits.
  for (let count = 0; count < 60; count += 1) expect(await ping(tokens[0])).toBe(200);
  expect(await ping(tokens[0])).toBe(429);
  expect(await ping(tokens[0]?.toUpperCase())).toBe(429);
  expect(await ping(tokens[1])).toBe(200);
});

it('does not judge wrong keys twice, and does not limit agents', async () => {
  const location = await createLocation(harness, 'lab');
  const agent = new TestAgent(harness, location);
  for (let count = 0; count < 100; count += 1) {
    expect((await agent.call('claims', agent.claimBody())).status).toBe(200);
  }
  expect((await list('unknown')).status).toBe(401);
});

it('can be turned off', async () => {
  const free = await openHarness({ clock, requestsPerMinute: 0 });
  for (let count = 0; count < 50; count += 1) {
    const answer = await free.call('GET', '/v1/reporting');
    expect([answer.status, answer.headers['x-ratelimit-limit']]).toEqual([200, undefined]);
  }
  await free.close();
});
