import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { checkDomain, listDomains } from '../../../src/cli/domains/domains.ts';
import { answerTo, cname, type DnsTestServer, startDnsServer } from '../../helpers/dns/dns-server.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createLocation,
  metricsToken,
  openHarness,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';

const dayMs = 86_400_000;
const publicUrl = 'https://picket.example.com';
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
const texts = new Map<string, string>();
const aliases = new Map<string, string>();
let isDnsAway = false;
let dns: DnsTestServer;
let harness: ServiceHarness;
let other: { accountId: string; key: string };

beforeAll(async () => {
  dns = await startDnsServer((query) => {
    const { name, type } = query.question;
    if (isDnsAway) return [answerTo(query, [], { rcode: 2 })];
    const text = type === 'TXT' ? texts.get(name) : undefined;
    const alias = type === 'CNAME' ? aliases.get(name) : undefined;
    if (text !== undefined) return [answerTo(query, [{ type: 'TXT', name, ttl: 1, data: text }])];
    if (alias !== undefined) return [answerTo(query, [cname(name, alias)])];
    return [answerTo(query, [], { rcode: 3 })];
  });
  const nameServers = new Resolver({ timeout: 2_000, tries: 1 });
  nameServers.setServers([`127.0.0.1:${dns.port}`]);
  harness = await openHarness({ clock, publicUrl, artifactsUrl: 'https://files.example.com', nameServers });
  other = await harness.addAccount();
});
afterAll(async () => {
  await harness.close();
  await dns.close();
});

const at = async (host: string, url: string, headers: Readonly<Record<string, string>> = {}) => {
  // The list of hosts is cached for some seconds.
  clock.advance(5_000);
  return harness.app.inject({ url, headers: { host, accept: 'text/html', ...headers } });
};
const page = (url: string, customDomain: string, key = harness.key) =>
  harness.call('POST', '/v1/status-pages', { name: url, url, version: 3, cards: [], customDomain }, { key });
const check = (id: string) => harness.call('POST', `/v1/status-pages/${id}/custom-domain/check`);

describe('a custom domain', () => {
  it('works once a TXT record proves it, and explains until then what to do', async () => {
    const { body } = await page('txt', 'Status.Shop.test.');
    expect(body.customDomain).toBe('status.shop.test');
    const { record } = body.customDomainState;
    expect(body.customDomainState).toMatchObject({
      status: 'PENDING',
      cname: 'picket.example.com',
      record: { type: 'TXT', name: '_picket.status.shop.test' },
    });
    texts.set(record.name, 'picket-domain=of-somebody-else');
    aliases.set('status.shop.test', 'picket.example.com');
    const refused = (await check(body.id)).body.customDomainState;
    expect([refused.status, refused.problem]).toEqual([
      'PENDING',
      expect.stringContaining('of-somebody-else'),
    ]);
    expect((await at('status.shop.test', '/')).headers['location']).toBe('/login');
    texts.set(record.name, record.value);
    expect((await check(body.id)).body.customDomainState).toMatchObject({ status: 'PROVEN', method: 'TXT' });
    expect((await at('status.shop.test', '/')).statusCode).toBe(200);
  });

  it('is checked automatically, and a CNAME record proves it as well', async () => {
    const { body } = await page('cname', 'status.alias.test');
    aliases.set('status.alias.test', 'edge.alias.test');
    aliases.set('edge.alias.test', 'picket.example.com');
    harness.startCustomDomains();
    await until('the domain is proven', async () => {
      clock.advance(60_000);
      const shown = await harness.call('GET', `/v1/status-pages/${body.id}`);
      return shown.body.customDomainState.method === 'CNAME';
    });
    expect((await at('status.alias.test', '/')).statusCode).toBe(200);
    // Unavailable name servers do not revoke a proof; a deleted record does, after some time.
    isDnsAway = true;
    expect((await check(body.id)).body.customDomainState).toMatchObject({ status: 'PROVEN' });
    isDnsAway = false;
    aliases.delete('status.alias.test');
    expect((await check(body.id)).body.customDomainState).toMatchObject({ status: 'LOST', method: null });
    expect((await at('status.alias.test', '/')).statusCode).toBe(200);
    clock.advance(15 * dayMs);
    expect((await at('status.alias.test', '/')).headers['location']).toBe('/login');
  });

  it('blocks no path of the service', async () => {
    for (const path of [
      '/v1/checks',
      '/next/users/me',
      '/metrics',
      '/-/readiness',
      '/login',
      '/mcp',
      '/v1/nothing',
    ]) {
      const headers = { authorization: `Bearer ${harness.key}` };
      const [here, there] = [
        await at('picket.example.com', path, headers),
        await at('status.shop.test', path, headers),
      ];
      expect([path, there.statusCode]).toEqual([path, here.statusCode]);
    }
    const location = await createLocation(harness, 'cut-off');
    const agent = new TestAgent(harness, location);
    const headers = { host: 'status.shop.test', authorization: `Bearer ${location.key}` };
    const claim = await harness.app.inject({
      method: 'POST',
      url: '/v1/agent/claims',
      headers,
      payload: agent.claimBody(),
    });
    expect(claim.statusCode).toBe(200);
  });

  it('is refused if it is a name of the service, or was used in a request', async () => {
    const location = await createLocation(harness, 'calling');
    const agent = new TestAgent(harness, location);
    const name = 'picket.monitoring.svc.cluster.local';
    const headers = { host: name, authorization: `Bearer ${location.key}` };
    await harness.app.inject({
      method: 'POST',
      url: '/v1/agent/claims',
      headers,
      payload: agent.claimBody(),
    });
    await harness.app.inject({ url: '/-/readiness', headers: { host: 'probed.test' } });
    for (const [index, host] of ['picket.example.com', 'FILES.example.com.', name, 'probed.test'].entries()) {
      const answer = await page(`own-${index}`, host, other.key);
      expect([host, answer.status, answer.body.message]).toEqual([
        host,
        409,
        expect.stringContaining('customDomain'),
      ]);
    }
  });

  it('belongs to one page of all kinds and accounts, in any spelling', async () => {
    const wall = { header: 'Wall', customDomain: 'wände.shop.test' };
    const { body } = await harness.call('POST', '/v1/dashboards', wall);
    expect(body.customDomain).toBe('xn--wnde-loa.shop.test');
    for (const customDomain of ['WÄNDE.shop.test', 'xn--wnde-loa.shop.test.']) {
      const answer = await page('thief', customDomain, other.key);
      expect([answer.status, answer.body.message]).toEqual([409, expect.stringContaining('customDomain')]);
    }
    const mine = (await page('mine', 'mine.shop.test', other.key)).body;
    const put = await harness.call(
      'PUT',
      `/v1/status-pages/${mine.id}`,
      { customDomain: 'wände.shop.test' },
      { key: other.key },
    );
    expect(put.status).toBe(409);
    const both = await Promise.all([
      page('race', 'race.shop.test'),
      harness.call(
        'POST',
        '/v1/dashboards',
        { header: 'x', customDomain: 'race.shop.test' },
        { key: other.key },
      ),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
    // A domain that was given up, or not proven for a week, is free.
    await harness.call('DELETE', `/v1/dashboards/${body.dashboardId}`);
    expect((await page('taken-over', 'wände.shop.test', other.key)).status).toBe(201);
    clock.advance(8 * dayMs);
    expect((await page('lapsed', 'mine.shop.test')).status).toBe(201);
    const lost = await harness.call('GET', `/v1/status-pages/${mine.id}`, undefined, { key: other.key });
    expect(lost.body).toMatchObject({ customDomain: null, customDomainState: null });
  });

  it('names the conflicting field', async () => {
    const answer = await page('txt', 'unused.shop.test', other.key);
    expect([answer.status, answer.body.message]).toEqual([
      409,
      'The url is already used. Choose another one.',
    ]);
    for (const customDomain of ['a b.test', 'localhost', '10.0.0.1', 'x.test:80', 'https://x.test']) {
      expect([customDomain, (await page('bad', customDomain)).status]).toEqual([customDomain, 400]);
    }
  });
});

it('is counted by state for operators, and listed and checked by commands', async () => {
  const { body } = await page('commands', 'commands.test');
  const address = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  const api = new ApiClient({ PICKET_URL: address, PICKET_API_KEY: harness.key });
  const listed = (await listDomains(api, [], {})).lines(200);
  expect(listed[0]).toMatch(/^STATE +NAME +PAGE +PROBLEM$/);
  expect(listed.find((line) => line.includes('commands.test'))).toMatch(/^PENDING +commands\.test +commands/);
  const missing = await checkDomain(api, ['Commands.test.'], {});
  const { record } = body.customDomainState;
  expect(missing.exitCode).toBe(1);
  expect(missing.lines(80)).toEqual([
    'commands.test of the status page "commands": PENDING',
    expect.stringContaining('has no TXT record'),
    'Either of these records proves it:',
    `  ${record.name} TXT "${record.value}"`,
    '  commands.test CNAME picket.example.com',
  ]);
  texts.set(record.name, record.value);
  const proven = await checkDomain(api, ['commands.test'], {});
  expect([proven.exitCode, proven.lines(80)]).toEqual([
    0,
    ['commands.test of the status page "commands": PROVEN by TXT'],
  ]);
  await expect(checkDomain(api, ['nowhere.test'], {})).rejects.toThrow(
    'No page of the account has the domain',
  );
  const metrics = async (key: string) => (await harness.call('GET', '/metrics', undefined, { key })).body;
  const counted = [
    ...String(await metrics(metricsToken)).matchAll(/^picket_custom_domains\{state="(\w+)"\} (\d+)/gm),
  ];
  const rows = await harness.store.customDomains.all();
  expect(counted.map(([, state]) => state)).toEqual(['PENDING', 'PROVEN', 'LOST']);
  expect(counted.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(rows.length);
  expect(Number(counted[1]?.[2])).toBeGreaterThan(0);
  expect(await metrics(harness.key)).not.toContain('picket_custom_domains');
});

describe('addresses of pages in a deployment', () => {
  const project = { logicalId: 'pages', name: 'Pages' };
  const statusPage = (logicalId: string, fields: object) => ({
    ...{ type: 'status-page', logicalId },
    payload: { name: logicalId, version: 3, cards: [], ...fields },
  });
  const board = (logicalId: string, fields: object) => ({
    ...{ type: 'dashboard', logicalId },
    payload: { header: logicalId, ...fields },
  });
  const endOf = (id: string) =>
    until('the deployment is over', async () => {
      clock.advance(1_000);
      const { body } = await harness.call('GET', `/v1/projects/pages/deployments/${id}`);
      return ['SUCCEEDED', 'FAILED'].includes(body.status) && body;
    });
  const deploy = async (resources: readonly object[]) => {
    const begun = await harness.call('POST', '/v1/projects/deploy', { project, resources });
    expect([begun.status, begun.body.message]).toEqual([202, undefined]);
    expect(await endOf(begun.body.id)).toMatchObject({ status: 'SUCCEEDED', error: null });
  };
  const addresses = async () => {
    const { body: pages } = await harness.call('GET', '/v1/status-pages');
    const { body: boards } = await harness.call('GET', '/v1/dashboards');
    return Object.fromEntries([
      ...pages.entries.map((one: Record<string, unknown>) => [one.name, [one.url, one.customDomain]]),
      ...boards.map((one: Record<string, unknown>) => [one.header, [one.customUrl, one.customDomain]]),
    ]);
  };

  it('move from one page to another, in any order of the pages', async () => {
    harness.startDeployments();
    const one = { url: 'swap-one', customDomain: 'one.swap.test' };
    const two = { url: 'swap-two', customDomain: 'two.swap.test' };
    const three = { customUrl: 'swap-three', customDomain: 'three.swap.test' };
    const first = [statusPage('a', one), statusPage('b', two), board('c', three)];
    await deploy(first);
    // A cyclic exchange between pages of both kinds.
    const turned = [
      statusPage('a', { url: 'swap-two', customDomain: 'three.swap.test' }),
      statusPage('b', { url: 'swap-one', customDomain: 'one.swap.test' }),
      board('c', { customUrl: 'swap-three', customDomain: 'two.swap.test' }),
    ];
    const expected = {
      a: ['swap-two', 'three.swap.test'],
      b: ['swap-one', 'one.swap.test'],
      c: ['swap-three', 'two.swap.test'],
    };
    await deploy(turned);
    expect(await addresses()).toMatchObject(expected);
    await deploy(first.toReversed());
    await deploy(turned.toReversed());
    expect(await addresses()).toMatchObject(expected);
    // A deleted page leaves its addresses to an existing or new one.
    await deploy([
      statusPage('new', { url: 'swap-one', customDomain: 'two.swap.test' }),
      statusPage('a', { url: 'swap-two', customDomain: 'one.swap.test' }),
    ]);
    expect(await addresses()).toMatchObject({
      new: ['swap-one', 'two.swap.test'],
      a: ['swap-two', 'one.swap.test'],
    });
    // An address of a page outside the project is still refused.
    await page('outside', 'outside.swap.test');
    const { body } = await harness.call('POST', '/v1/projects/deploy', {
      project,
      resources: [statusPage('a', { url: 'swap-two', customDomain: 'outside.swap.test' })],
    });
    expect(await endOf(body.id)).toMatchObject({ status: 'FAILED' });
  });
});
