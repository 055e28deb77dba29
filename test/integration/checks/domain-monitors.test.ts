import { describe, expect, it } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { createRunLog } from '../../../src/checks/contract/run-log.ts';
import { DomainDetail } from '../../../src/checks/domain/detail.ts';
import { dateMs, readRdapAnswer } from '../../../src/checks/domain/rdap-answer.ts';
import { retryAfterMs } from '../../../src/checks/domain/rdap-request.ts';
import { runDomain } from '../../../src/checks/domain/run.ts';
import { DomainSpec } from '../../../src/checks/domain/spec.ts';
import { summaryOf } from '../../../src/checks/domain/summary.ts';
import { runContext } from '../../helpers/run-context.ts';
import { type RdapTarget, rdapDomain, startRdapTarget } from '../../helpers/targets/rdap-target.ts';

async function run(
  target: RdapTarget,
  request: object,
  rest: object = {},
  context: Partial<RunContext> = {},
) {
  const spec = DomainSpec.parse({ ...rest, request: { rdapDirectory: target.directory, ...request } });
  const outcome = await runDomain(spec, runContext(context));
  expect(DomainDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

describe('a domain monitor', () => {
  it('finds the server of the registry in the list, which it reads once', async () => {
    await using target = await startRdapTarget(
      {
        'shop.co.test': rdapDomain('shop.co.test', 100),
        'xn--bcher-kva.test': rdapDomain('xn--bcher-kva.test', 5),
      },
      ['test', 'co.test'],
    );
    const { failure, isDegraded, detail, responseTimeMs } = await run(target, { domain: 'Shop.CO.test.' });
    expect({ failure, isDegraded }).toEqual({ failure: undefined, isDegraded: false });
    expect(responseTimeMs).toBeGreaterThan(0);
    expect(detail.request).toEqual({ domain: 'shop.co.test', url: `${target.url}/rdap/domain/shop.co.test` });
    expect(detail.response).toMatchObject({
      ...{ status: 200, source: 'registry', answeredAt: null, daysUntilExpiry: 100 },
      registration: {
        ...{ domain: 'shop.co.test', registrar: 'Example Registrar Inc.', isSigned: true },
        registeredAt: '1995-08-14T04:00:00.000Z',
        statuses: ['client transfer prohibited'],
        nameServers: ['ns1.example.net', 'ns2.example.net'],
      },
    });
    const soon = await run(target, { domain: 'bücher.test' });
    expect(soon.failure).toMatchObject({ code: 'DOMAIN_EXPIRING', owner: 'target' });
    expect(soon.failure?.message).toContain('xn--bcher-kva.test expires in 5 days, on ');
    expect(target.paths).toEqual([
      '/dns.json',
      '/rdap/domain/shop.co.test',
      '/rdap/domain/xn--bcher-kva.test',
    ]);
  });

  it.each([
    [20, {}, undefined, true],
    [20, { alertDaysBeforeExpiry: null }, undefined, false],
    [20, { failDaysBeforeExpiry: 20 }, 'DOMAIN_EXPIRING', false],
    [3, { failDaysBeforeExpiry: null }, undefined, true],
    [-2, { failDaysBeforeExpiry: null, alertDaysBeforeExpiry: null }, 'DOMAIN_EXPIRING', false],
  ])('with %d days left and %j', async (days, limits, code, isDegraded) => {
    // A little less than these days.
    await using target = await startRdapTarget({ 'a.test': rdapDomain('a.test', days - 0.01) });
    const outcome = await run(target, { domain: 'a.test', ...limits });
    expect({ code: outcome.failure?.code, isDegraded: outcome.isDegraded }).toEqual({ code, isDegraded });
    if (isDegraded) expect(outcome.detail.degradedReasons).toHaveLength(1);
  });

  it('fails for a domain that was not renewed in time, whatever its date', async () => {
    const lost = rdapDomain('a.test', 300, { status: ['Redemption Period'] });
    await using target = await startRdapTarget({ 'a.test': lost });
    const { failure } = await run(target, { domain: 'a.test' });
    expect(failure).toMatchObject({
      code: 'DOMAIN_EXPIRING',
      message: expect.stringContaining('Redemption'),
    });
  });

  it('takes the date of the registrar where the registry has none, and its links', async () => {
    const links = (base: string) => [
      { rel: 'self', href: `${base}/rdap/domain/thin.test` },
      { rel: 'related', type: 'application/rdap+json', href: `${base}/registrar` },
    ];
    let base = '';
    await using target = await startRdapTarget({
      'thin.test': (response) =>
        response.end(JSON.stringify(rdapDomain('thin.test', null, { links: links(base) }))),
      '/registrar': rdapDomain('thin.test', 90),
    });
    base = target.url;
    const { failure, detail } = await run(target, { domain: 'thin.test' });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({ source: 'registrar', daysUntilExpiry: 90 });
    expect(detail.request.url).toBe(`${base}/registrar`);
  });

  it('follows redirects, to a server that is named in place of the list, too', async () => {
    await using target = await startRdapTarget({ 'a.test': rdapDomain('a.test', 90) });
    await using moved = await startRdapTarget({
      '/v1/domain/a.test': (response) =>
        response.writeHead(302, { location: `${target.url}/rdap/domain/a.test` }).end(),
    });
    const { failure, detail } = await run(target, { domain: 'a.test', rdapServer: `${moved.url}/v1` });
    expect(failure).toBeUndefined();
    expect(detail.request.url).toBe(`${target.url}/rdap/domain/a.test`);
    expect(target.paths).not.toContain('/dns.json');
  });

  it('asks nothing of a server that limits requests, and uses its last answer meanwhile', async () => {
    let isLimited = false;
    await using target = await startRdapTarget({
      'a.test': (response) => {
        if (isLimited) response.writeHead(429, { 'retry-after': '3600' }).end();
        else response.end(JSON.stringify(rdapDomain('a.test', 90)));
      },
    });
    expect((await run(target, { domain: 'a.test' })).detail.response?.answeredAt).toBeNull();
    isLimited = true;
    for (const count of [2, 2]) {
      const log = createRunLog();
      const { failure, detail } = await run(target, { domain: 'a.test' }, {}, { log });
      expect(failure).toBeUndefined();
      expect(detail.response).toMatchObject({ daysUntilExpiry: 90, answeredAt: expect.any(String) });
      expect(log.entries[0]?.msg).toContain('because the server gives none');
      expect(target.paths.filter((path) => path.endsWith('a.test'))).toHaveLength(count);
    }
    const other = await run(target, { domain: 'b.test' });
    expect(other.failure).toMatchObject({ code: 'RDAP_UNAVAILABLE', owner: 'location' });
    expect(other.failure?.message).toContain('limits the rate of requests: it is asked again from');
  });

  it.each([
    [
      'a 500',
      (response: { writeHead(status: number): { end(): void } }) => response.writeHead(500).end(),
      '500',
    ],
    ['another domain', rdapDomain('b.test', 90), 'is not RDAP about a.test'],
    ['a list', ['domain'], 'is not RDAP about a.test'],
    ['a huge answer', rdapDomain('a.test', 90, { notices: ['x'.repeat(600_000)] }), 'more than 524288 bytes'],
  ])('blames neither the domain nor the check for %s', async (_what, answer, words) => {
    await using target = await startRdapTarget({ 'a.test': answer as object });
    const { failure } = await run(target, { domain: 'a.test' });
    expect(failure).toMatchObject({ code: 'RDAP_UNAVAILABLE', owner: 'location' });
    expect(failure?.message).toContain(words);
  });

  it.each([
    ['is not JSON', (response: { end(text: string): void }) => response.end('<html>'), 'not JSON'],
    ['is no list', { services: 'none' }, 'is not a list of RDAP servers'],
  ])('fails without a list that %s, and reads it again the next time', async (_what, list, words) => {
    await using target = await startRdapTarget({ '/dns.json': list as object });
    for (const count of [1, 2]) {
      const { failure } = await run(target, { domain: 'a.test' });
      expect(failure).toMatchObject({ code: 'RDAP_UNAVAILABLE', message: expect.stringContaining(words) });
      expect(target.paths).toHaveLength(count);
    }
  });

  it('says that a top-level domain has no server, and hints at hosts in registered domains', async () => {
    await using target = await startRdapTarget({});
    const unlisted = await run(target, { domain: 'shop.de' });
    expect(unlisted.failure).toMatchObject({ code: 'DOMAIN_EXPIRY_UNPUBLISHED', owner: 'config' });
    expect(unlisted.failure?.message).toContain('lists no RDAP server for .de');
    const host = await run(target, { domain: 'www.shop.test' });
    expect(host.failure).toMatchObject({ code: 'DOMAIN_NOT_REGISTERED' });
    expect(host.failure?.message).toContain('not the hosts in them');
    const free = await run(target, { domain: 'free.test' }, { shouldFail: true });
    expect(free.failure).toBeUndefined();
  });

  it('compares statuses, name servers and days', async () => {
    await using target = await startRdapTarget({ 'a.test': rdapDomain('a.test', 90) });
    const holds = [
      { source: 'STATUS', comparison: 'CONTAINS', target: 'client transfer prohibited' },
      { source: 'NAME_SERVERS', comparison: 'CONTAINS', target: 'ns1.example.net' },
      { source: 'DAYS_UNTIL_EXPIRY', comparison: 'GREATER_THAN', target: '60' },
      { source: 'JSON_RESPONSE', property: '$.isSigned', comparison: 'EQUALS', target: 'true' },
    ];
    const { failure, detail } = await run(target, { domain: 'a.test', assertions: holds });
    expect(failure).toBeUndefined();
    const facts = summaryOf(detail).sections[0]?.facts ?? [];
    expect(facts.find(({ name }) => name === 'Registration')?.value).toBe('expires in 90 days');
  });

  it('ends promptly when it is stopped', async () => {
    const controller = new AbortController();
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>();
    await using target = await startRdapTarget({ '/dns.json': () => onAsked() });
    const running = run(target, { domain: 'a.test' }, {}, { signal: controller.signal });
    await asked;
    controller.abort(new Error('lease lost'));
    expect((await running).failure).toMatchObject({ code: 'RUN_ABORTED', owner: 'agent' });
  });
});

describe('answers of registries', () => {
  it.each([
    ['2027-03-01T12:30:00Z', '2027-03-01T12:30:00.000Z'],
    ['2027-03-01t12:30:00.123456+02:00', '2027-03-01T10:30:00.000Z'],
    ['2027-03-01 12:30:00', '2027-03-01T12:30:00.000Z'],
    ['2027-03-01T12:30:00-0500', '2027-03-01T17:30:00.000Z'],
    ['2027-03-01', '2027-03-01T00:00:00.000Z'],
    ['2027-02-30T00:00:00Z', undefined],
    ['01.03.2027', undefined],
    ['', undefined],
  ])('have dates such as %j', (text, expected) => {
    const atMs = dateMs(text);
    expect(atMs === undefined ? undefined : new Date(atMs).toISOString()).toBe(expected);
  });

  it('have the first of several dates, and odd ones are named', () => {
    const event = (eventDate: unknown) => ({ eventAction: 'expiration', eventDate });
    const events = [
      event('2030-01-01T00:00:00Z'),
      event('soon'),
      event('2029-01-01T00:00:00Z'),
      event(7),
      null,
    ];
    const answer = readRdapAnswer({ objectClassName: 'domain', events }, 'a.test');
    expect(answer?.registration.expiresAt).toBe('2029-01-01T00:00:00.000Z');
    expect(answer?.oddDates).toEqual(['soon', '']);
  });

  it('may have anything in place of each member', () => {
    const wrong = [7, 'text', null, [], [[]], [7, null], { a: 1 }];
    for (const member of ['ldhName', 'status', 'events', 'entities', 'nameservers', 'secureDNS', 'links']) {
      for (const value of wrong) {
        const document = { objectClassName: 'domain', [member]: value };
        expect(() => readRdapAnswer(document, 'a.test'), JSON.stringify(document)).not.toThrow();
      }
    }
    const entities = [
      { roles: ['registrar'], vcardArray: ['vcard', [['fn', {}, 'text', { odd: true }]]], handle: 'H' },
    ];
    expect(readRdapAnswer({ objectClassName: 'domain', entities }, 'a.test')?.registration.registrar).toBe(
      'H',
    );
  });

  it('ask to wait in seconds or until a date', () => {
    expect(retryAfterMs('30')).toBe(30_000);
    expect(retryAfterMs(new Date(Date.now() + 60_000).toUTCString())).toBeGreaterThan(50_000);
    expect(retryAfterMs('999999999')).toBe(86_400_000);
    expect(retryAfterMs('soon')).toBeUndefined();
    expect(retryAfterMs('')).toBeUndefined();
  });
});
