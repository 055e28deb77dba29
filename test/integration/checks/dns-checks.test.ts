import { type Answer, type OptAnswer, RECURSION_DESIRED } from 'dns-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { DnsDetail } from '../../../src/checks/dns/detail.ts';
import { runDns } from '../../../src/checks/dns/run.ts';
import { DnsSpec } from '../../../src/checks/dns/spec.ts';
import { HostResolver } from '../../../src/probes/dns/host/host-resolver.ts';
import {
  a,
  answerTo,
  cname,
  type DnsTestServer,
  type ReceivedQuery,
  startDnsServer,
} from '../../helpers/dns/dns-server.ts';
import { createHostFiles } from '../../helpers/dns/host-files.ts';
import { runContext } from '../../helpers/run-context.ts';

const soa = {
  type: 'SOA',
  name: 'example.test',
  ttl: 300,
  data: {
    mname: 'ns.example.test',
    rname: 'hostmaster.example.test',
    serial: 7,
    refresh: 7200,
    retry: 3600,
    expire: 1209600,
    minimum: 300,
  },
} as const;

function behave(query: ReceivedQuery): Buffer[] {
  const { name, type } = query.question;
  if (query.question.class === 'CH') {
    const about =
      name === 'other-class.test' ? ({ ...query.question, class: 'IN' } as const) : query.question;
    const text: Answer = { type: 'TXT', name, ttl: 0, class: 'CH', data: ['named 9'] };
    return [answerTo({ ...query, question: about }, [text])];
  }
  if (name === 'silent.test') return [];
  if (name === 'missing.test') return [answerTo(query, [], { rcode: 3 })];
  if (name === 'failing.test') return [answerTo(query, [], { rcode: 2 })];
  if (name === 'garbled.test') return [answerTo(query, []).subarray(0, 20)];
  if (name === 'empty.test') return [answerTo(query, [])];
  if (name === 'many.test') {
    const records = Array.from({ length: 1500 }, (_, index) =>
      a('many.test', `10.1.${index >> 8}.${index & 255}`),
    );
    return [
      answerTo(query, query.transport === 'TCP' ? records : [], { isTruncated: query.transport === 'UDP' }),
    ];
  }
  if (name === 'zeros.test') {
    const data = Array.from({ length: 250 }, () => Buffer.alloc(250));
    return [answerTo(query, [{ type: 'TXT', name, ttl: 60, data }])];
  }
  if (type === 'SOA') return [answerTo(query, [soa])];
  if (type === 'MX') {
    const mx = (preference: number, exchange: string) =>
      ({ type: 'MX', name, ttl: 60, data: { preference, exchange } }) as const;
    return [answerTo(query, [mx(10, 'mail.example.test'), mx(20, 'mail2.example.test')])];
  }
  if (name === 'delegated.test') return [answerTo(query, [], { additionals: [a('ns.test', '192.0.2.53')] })];
  if (name === 'alias.test') return [answerTo(query, [cname(name, 'www.test'), a('www.test', '192.0.2.1')])];
  return [answerTo(query, [a(name, '192.0.2.1')])];
}

let server: DnsTestServer;
beforeAll(async () => {
  server = await startDnsServer(behave);
});
afterAll(() => server.close());

type Rest = Partial<Omit<DnsSpec, 'request'>>;

async function run(
  request: Record<string, unknown> & { readonly query: string },
  rest: Rest = {},
  context: Partial<RunContext> = {},
) {
  const spec = DnsSpec.parse({
    ...rest,
    request: { recordType: 'A', nameServer: '127.0.0.1', port: server.port, ...request },
  });
  const outcome = await runDns(spec, runContext(context));
  expect(DnsDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}
const assertion = (source: string, comparison: string, target = '', more: object = {}) => ({
  source,
  comparison,
  target,
  ...more,
});
const own = { nameServer: null, port: null };

it.each([
  [{}, { isRecursive: true, wantsSignatures: false }],
  [{ recursionDesired: false }, { isRecursive: false, wantsSignatures: false }],
  [{ dnssecOk: true }, { isRecursive: true, wantsSignatures: true }],
])('a DNS monitor with %j sends that query', async (fields, expected) => {
  for (const protocol of ['UDP', 'TCP']) {
    await run({ query: 'www.test', protocol, ...fields });
    const packet = server.queries.at(-1)?.packet;
    const opt = packet?.additionals?.find(({ type }) => type === 'OPT') as OptAnswer | undefined;
    const isRecursive = ((packet?.flags ?? 0) & RECURSION_DESIRED) !== 0;
    expect({ isRecursive, wantsSignatures: opt?.flag_do }).toEqual(expected);
  }
});

it('a DNS monitor queries another class, and accepts no reply of a third one', async () => {
  const chaos = { query: 'version.bind', recordType: 'TXT', recordClass: 'CH' };
  const { detail, failure } = await run({
    ...chaos,
    assertions: [assertion('TEXT_ANSWER', 'EQUALS', 'named 9')],
  });
  expect(failure).toBeUndefined();
  expect(server.queries.at(-1)?.question.class).toBe('CH');
  expect(detail.request.recordClass).toBe('CH');
  const other = await run({ ...chaos, query: 'other-class.test' }, {}, { timeoutMs: 300 });
  expect(other.failure).toMatchObject({
    code: 'DNS_NO_ANSWER',
    message: expect.stringContaining('the class 1, not CH'),
  });
  const refused = DnsSpec.safeParse({ request: { query: 'x', recordType: 'A', recordClass: 'CH' } });
  expect(refused.error?.issues[0]?.path).toEqual(['request', 'recordClass']);
});

it('a DNS monitor shows the additional section, and assertions can inspect it', async () => {
  const assertions = [assertion('JSON_ANSWER', 'EQUALS', '192.0.2.53', { property: '$.Additional[0].data' })];
  const { detail, failure } = await run({ query: 'delegated.test', assertions });
  expect(failure).toBeUndefined();
  expect(detail.response.json?.Additional).toEqual([
    { name: 'ns.test.', type: 'A', TTL: 60, data: '192.0.2.53' },
  ]);
});

describe('the result of a DNS monitor', () => {
  it('shows the question, the server, and the reply as text and as JSON', async () => {
    const { detail, failure, responseTimeMs } = await run({ query: 'alias.test' });
    expect(failure).toBeUndefined();
    expect(responseTimeMs).toBeGreaterThan(0);
    expect(detail).toEqual({
      assertions: [],
      request: {
        query: 'alias.test',
        recordType: 'A',
        recordClass: 'IN',
        protocol: 'UDP',
        nameServer: '127.0.0.1',
        port: server.port,
      },
      response: {
        returnCode: 'NOERROR',
        answer: 'www.test.\n192.0.2.1',
        responseTime: responseTimeMs,
        nameServerInfo: { name: null, host: '127.0.0.1', port: server.port },
        retriedOverTcp: false,
        truncated: false,
        json: {
          Status: 'NOERROR',
          AA: true,
          TC: false,
          RD: true,
          RA: false,
          AD: false,
          CD: false,
          Question: [{ name: 'alias.test.', type: 'A' }],
          Answer: [
            { name: 'alias.test.', type: 'CNAME', TTL: 60, data: 'www.test.' },
            { name: 'www.test.', type: 'A', TTL: 60, data: '192.0.2.1' },
          ],
          Authority: [],
          Additional: [],
        },
      },
      requestError: null,
      jobLog: null,
      jobAssets: null,
      pcapDataUrl: null,
      route: null,
    });
  });

  it('writes MX and SOA records like zone files', async () => {
    const mx = await run({ query: 'example.test', recordType: 'MX' });
    expect(mx.detail.response.answer).toBe('10 mail.example.test.\n20 mail2.example.test.');
    const { detail } = await run({ query: 'example.test', recordType: 'SOA' });
    expect(detail.response.answer).toBe('ns.example.test. hostmaster.example.test. 7 7200 3600 1209600 300');
  });

  it('explains the problem if there is no reply', async () => {
    const { detail, failure } = await run({ query: 'silent.test' }, {}, { timeoutMs: 100 });
    expect(failure).toMatchObject({ code: 'DNS_NO_ANSWER', owner: 'target' });
    expect(detail.requestError).toBe(failure?.message);
    expect(detail.response).toMatchObject({
      returnCode: '',
      answer: '',
      json: null,
      nameServerInfo: { host: '127.0.0.1' },
    });
  });

  it('is stored up to a limit, while assertions see everything', async () => {
    const wanted = assertion('JSON_ANSWER', 'EQUALS', '1500', { property: '$.Answer.length' });
    const { detail, failure } = await run({ query: 'many.test', assertions: [wanted] });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({ retriedOverTcp: true, truncated: false });
    expect(detail.response.json?.Answer).toHaveLength(1500);
    // Each byte of it takes four characters as text.
    const zeros = await run({ query: 'zeros.test', recordType: 'TXT', protocol: 'TCP' });
    expect(zeros.failure).toBeUndefined();
    expect(zeros.detail.response.truncated).toBe(true);
    expect(JSON.stringify(zeros.detail).length).toBeLessThan(200_000);
  });
});

describe('the verdict of a DNS monitor', () => {
  it.each([
    ['www.test', false, undefined],
    ['empty.test', false, undefined],
    ['missing.test', false, 'RESPONSE_CODE_UNEXPECTED'],
    ['failing.test', false, 'RESPONSE_CODE_UNEXPECTED'],
    ['silent.test', false, 'DNS_NO_ANSWER'],
    ['www.test', true, 'RESPONSE_CODE_UNEXPECTED'],
    ['empty.test', true, 'RESPONSE_CODE_UNEXPECTED'],
    ['missing.test', true, undefined],
    ['failing.test', true, undefined],
    ['silent.test', true, undefined],
  ])('on %s with shouldFail %s is %s', async (query, shouldFail, code) => {
    const { failure, detail } = await run({ query }, { shouldFail }, { timeoutMs: 150 });
    expect(failure?.code).toBe(code);
    if (query !== 'silent.test') return;
    const said = shouldFail ? detail.jobLog?.request[0]?.msg : detail.requestError;
    expect(said).toContain('no response');
    expect(detail.requestError === null).toBe(shouldFail);
  });

  it('leaves the response code to an assertion about it', async () => {
    const isMissing = [assertion('RESPONSE_CODE', 'EQUALS', 'NXDOMAIN')];
    expect((await run({ query: 'missing.test', assertions: isMissing })).failure).toBeUndefined();
    expect((await run({ query: 'www.test', assertions: isMissing })).failure?.code).toBe('ASSERTION_FAILED');
    const { failure } = await run({ query: 'missing.test', assertions: isMissing }, { shouldFail: true });
    expect(failure).toBeUndefined();
  });

  it('never inverts failures that are not the fault of the queried server', async () => {
    const refused = await run({ query: 'www.test', nameServer: '169.254.169.254' }, { shouldFail: true });
    expect(refused.failure?.code).toBe('EGRESS_DENIED');
    const stopped = await run(
      { query: 'silent.test' },
      { shouldFail: true },
      { signal: AbortSignal.abort() },
    );
    expect(stopped.failure?.code).toBe('RUN_ABORTED');
    const assertions = [assertion('TEXT_ANSWER', 'IS_EMPTY')];
    const silent = await run({ query: 'silent.test', assertions }, { shouldFail: true }, { timeoutMs: 100 });
    expect(silent.failure?.code).toBe('ASSERTION_FAILED');
  });

  it('counts a reply that exceeds its limit, and one that is degraded', async () => {
    const late = await run({ query: 'www.test' }, { maxResponseTime: 0 });
    expect(late).toMatchObject({
      failure: { code: 'MAX_RESPONSE_TIME_EXCEEDED' },
      overMaxResponseTime: true,
    });
    const slow = await run({ query: 'www.test' }, { degradedResponseTime: 0 });
    expect(slow).toMatchObject({ failure: undefined, isDegraded: true });
  });
});

describe('assertions of a DNS monitor', () => {
  it.each([
    ['RESPONSE_CODE', 'EQUALS', 'NOERROR', {}],
    ['RESPONSE_CODE', 'NOT_EQUALS', 'SERVFAIL', {}],
    ['RESPONSE_TIME', 'LESS_THAN', '5000', {}],
    ['TEXT_ANSWER', 'CONTAINS', 'mail2.example.test.', {}],
    ['TEXT_ANSWER', 'EQUALS', '20', { regex: '(\\d+) mail2' }],
    ['TEXT_ANSWER', 'GREATER_THAN', '10', { property: '(\\d+) mail2' }],
    ['TEXT_ANSWER', 'IS_NULL', '', { regex: 'mail3' }],
    ['JSON_ANSWER', 'EQUALS', '10 mail.example.test.', { property: '$.Answer[0].data' }],
    ['JSON_ANSWER', 'LESS_THAN', '61', { property: '$.Answer[*].TTL' }],
    ['JSON_ANSWER', 'EQUALS', '2', { property: '$.Answer.length' }],
    ['JSON_ANSWER', 'EQUALS', 'false', { property: '$.AD' }],
    ['JSON_ANSWER', 'HAS_KEY', 'Answer', {}],
  ])('%s %s %s %j holds', async (source, comparison, target, more) => {
    const assertions = [assertion(source, comparison, target, more)];
    const { detail, failure } = await run({ query: 'example.test', recordType: 'MX', assertions });
    expect(detail.assertions[0]?.error).toBeNull();
    expect(failure).toBeUndefined();
  });

  it.each([
    ['TEXT_ANSWER', 'EQUALS', '192.0.2.2', {}],
    ['TEXT_ANSWER', 'NOT_EMPTY', '', { regex: 'mail(3)' }],
    ['JSON_ANSWER', 'LESS_THAN', '60', { property: '$.Answer[*].TTL' }],
    ['JSON_ANSWER', 'EQUALS', 'x', { property: '$.Answer[9]' }],
  ])('%s %s %s %j does not', async (source, comparison, target, more) => {
    const { failure } = await run({
      query: 'www.test',
      assertions: [assertion(source, comparison, target, more)],
    });
    expect(failure?.code).toBe('ASSERTION_FAILED');
  });

  it('is the definition’s fault if its path is invalid', async () => {
    const assertions = [assertion('JSON_ANSWER', 'EQUALS', 'x', { property: 'no path' })];
    const { failure } = await run({ query: 'www.test', assertions });
    expect(failure).toMatchObject({ code: 'ASSERTION_INVALID', owner: 'config' });
  });
});

describe('the request of a DNS monitor', () => {
  it('fills in templates', async () => {
    const variables = { ZONE: 'example.test', SERVER: '127.0.0.1', HOST: 'mail' };
    const assertions = [assertion('TEXT_ANSWER', 'CONTAINS', '{{HOST}}.{{ZONE}}.')];
    const { failure, detail } = await run(
      { query: '{{ZONE}}', recordType: 'MX', nameServer: '{{SERVER}}', assertions },
      {},
      { variables },
    );
    expect(failure).toBeUndefined();
    expect(detail.request).toMatchObject({ query: 'example.test', nameServer: '127.0.0.1' });
  });

  it('accepts an address for a PTR record', async () => {
    await run({ query: '192.0.2.1', recordType: 'PTR' });
    expect(server.queries.at(-1)?.question).toMatchObject({ type: 'PTR', name: '1.2.0.192.in-addr.arpa' });
    await run({ query: '2001:db8::1', recordType: 'PTR' });
    expect(server.queries.at(-1)?.question.name).toBe(
      '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
    );
  });

  it('accepts a name server by its name, and reports an unknown name', async () => {
    using files = createHostFiles(`nameserver ${server.nameserver}`, '127.0.0.1 ns.internal\n');
    const resolver = new HostResolver(files);
    const named = await run({ query: 'www.test', nameServer: 'ns.internal' }, {}, { resolver });
    expect(named.failure).toBeUndefined();
    expect(named.detail.response.nameServerInfo).toMatchObject({ name: 'ns.internal', host: '127.0.0.1' });
    const unknown = await run({ query: 'www.test', nameServer: 'missing.test' }, {}, { resolver });
    expect(unknown.failure).toMatchObject({ code: 'NAME_NOT_FOUND', owner: 'target' });
  });

  it('refuses a name server or port alone, and TLS or HTTPS without one', () => {
    const issues = (request: object) =>
      DnsSpec.safeParse({ request: { query: 'x', recordType: 'A', ...request } }).error?.issues.map(
        ({ path }) => path.join('.'),
      );
    expect(issues({ nameServer: '192.0.2.1' })).toEqual(['request.port']);
    expect(issues({ port: 53 })).toEqual(['request.nameServer']);
    expect(issues({ protocol: 'DOT' })).toEqual(['request.nameServer']);
    expect(issues({ protocol: 'DOH', nameServer: 'dns.example/x', port: 443 })).toBeUndefined();
  });
});

describe("the location's own name servers", () => {
  const withServers = async (lines: readonly string[], query: string, rest: Rest = {}) => {
    using files = createHostFiles(lines.map((line) => `nameserver ${line}`).join('\n'));
    return await run({ query, ...own }, rest, { resolver: new HostResolver(files), timeoutMs: 3000 });
  };

  it('are queried if the check names no server', async () => {
    const { failure, detail } = await withServers([server.nameserver], 'www.test');
    expect(failure).toBeUndefined();
    expect(detail.request).toMatchObject({ nameServer: null, port: null });
    expect(detail.response.nameServerInfo).toEqual({ name: null, host: '127.0.0.1', port: server.port });
  });

  it('back each other up, which the log shows', async () => {
    const gone = await startDnsServer(() => []);
    await gone.close();
    await using failing = await startDnsServer((query) => [answerTo(query, [], { rcode: 5 })]);
    const lines = [gone.nameserver, failing.nameserver, server.nameserver];
    const { failure, detail } = await withServers(lines, 'www.test');
    expect(failure).toBeUndefined();
    expect(detail.jobLog?.request.map(({ msg }) => msg)).toEqual([
      expect.stringContaining('ECONNREFUSED'),
      expect.stringContaining('REFUSED'),
    ]);
  });

  it('are not to blame for an error code that all of them return', async () => {
    const { failure } = await withServers([server.nameserver], 'failing.test');
    expect(failure).toMatchObject({ code: 'RESPONSE_CODE_UNEXPECTED', owner: 'target' });
  });

  it('are the location’s fault if none replies, with shouldFail too', async () => {
    const gone = await startDnsServer(() => []);
    await gone.close();
    for (const shouldFail of [false, true]) {
      const { failure } = await withServers([gone.nameserver], 'www.test', { shouldFail });
      expect(failure).toMatchObject({ code: 'RESOLVER_FAILED', owner: 'location' });
    }
    const without = await run({ query: 'www.test', ...own });
    expect(without.failure).toMatchObject({ code: 'RESOLVER_FAILED', owner: 'location' });
  });
});
