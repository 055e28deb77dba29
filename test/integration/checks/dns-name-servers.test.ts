import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRunLog } from '../../../src/checks/contract/run-log.ts';
import { DnsDetail } from '../../../src/checks/dns/detail.ts';
import { runDns } from '../../../src/checks/dns/run.ts';
import { DnsSpec } from '../../../src/checks/dns/spec.ts';
import { summaryOf } from '../../../src/checks/dns/summary.ts';
import { openHosts } from '../../../src/cli/signing/open-hosts.ts';
import { a, answerTo, type DnsTestServer, startDnsServer } from '../../helpers/dns/dns-server.ts';
import { runContext } from '../../helpers/run-context.ts';

let current: DnsTestServer;
let outdated: DnsTestServer;
let broken: DnsTestServer;
let silent: DnsTestServer;
beforeAll(async () => {
  current = await startDnsServer((query) => [answerTo(query, [a('www.test', '192.0.2.1')])]);
  outdated = await startDnsServer((query) => [answerTo(query, [a('www.test', '192.0.2.9')])]);
  broken = await startDnsServer((query) => [answerTo(query, [], { rcode: 2 })]);
  silent = await startDnsServer(() => []);
});
afterAll(() => Promise.all([current, outdated, broken, silent].map((server) => server.close())));

const nameOf = ({ port }: DnsTestServer) => `127.0.0.1:${port}`;
const expected = [{ source: 'TEXT_ANSWER', comparison: 'EQUALS', target: '192.0.2.1' }];

async function ask(
  servers: readonly (DnsTestServer | string)[],
  request: object = {},
  context: Parameters<typeof runContext>[0] = {},
) {
  const nameServers = servers.map((one) => (typeof one === 'string' ? one : nameOf(one)));
  const spec = DnsSpec.parse({
    request: { query: 'www.test', recordType: 'A', nameServers, assertions: expected, ...request },
  });
  const outcome = await runDns(spec, runContext(context));
  expect(DnsDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

const anyOf = { serversToPass: 'ANY' };

describe('several name servers', () => {
  it('pass where each answers as expected, with what each answered', async () => {
    const { failure, detail, responseTimeMs } = await ask([current, `localhost:${current.port}`]);
    expect(failure).toBeUndefined();
    expect(detail.nameServers).toEqual([
      {
        nameServer: nameOf(current),
        address: '127.0.0.1',
        verdict: 'passed',
        code: null,
        message: null,
        returnCode: 'NOERROR',
        answer: '192.0.2.1',
        responseTime: expect.any(Number),
      },
      expect.objectContaining({ nameServer: `localhost:${current.port}`, verdict: 'passed' }),
    ]);
    // The time is that of the slowest: then all have answered.
    expect(responseTimeMs).toBe(Math.max(...(detail.nameServers ?? []).map((one) => one.responseTime)));
  });

  it('fail where one answers otherwise, and the failure names it', async () => {
    const { failure, errorMessages, detail } = await ask([current, outdated]);
    expect(failure).toMatchObject({ code: 'ASSERTION_FAILED', owner: 'target' });
    expect(failure?.message).toContain(`1 of 2 name servers failed: ${nameOf(outdated)}: `);
    expect(errorMessages).toEqual([failure?.message]);
    expect(detail.request).toMatchObject({ nameServer: '127.0.0.1', port: outdated.port });
    expect(detail.nameServers?.map(({ verdict, answer }) => [verdict, answer])).toEqual([
      ['passed', '192.0.2.1'],
      ['failed', '192.0.2.9'],
    ]);
  });

  it('pass where any suffices and one answers as expected', async () => {
    const { failure, detail } = await ask([silent, broken, outdated, current], anyOf, { timeoutMs: 500 });
    expect(failure).toBeUndefined();
    expect(detail.nameServers?.map(({ code }) => code)).toEqual([
      'DNS_NO_ANSWER',
      'RESPONSE_CODE_UNEXPECTED',
      'ASSERTION_FAILED',
      null,
    ]);
    expect(detail.response.nameServerInfo?.port).toBe(current.port);
  });

  it('fail where any would suffice and none answers as expected', async () => {
    const { failure, responseTimeMs, detail } = await ask([broken, outdated], anyOf);
    expect(failure?.message).toContain(
      `2 of 2 name servers failed (${nameOf(broken)}, ${nameOf(outdated)}): `,
    );
    expect(responseTimeMs).toBe(Math.min(...(detail.nameServers ?? []).map((one) => one.responseTime)));
  });

  it('are asked on their own addresses only, where the egress policy permits', async () => {
    const { failure, detail } = await ask([current, '169.254.169.254'], anyOf);
    expect(failure).toBeUndefined();
    expect(detail.nameServers?.[1]).toMatchObject({
      nameServer: '169.254.169.254:53',
      code: 'EGRESS_DENIED',
    });
  });

  it('come from variables, and twice the same one is asked once', async () => {
    const variables = { ONE: nameOf(current), OTHER: nameOf(current) };
    const { failure, detail } = await ask(['{{ONE}}', '{{OTHER}}'], {}, { variables });
    expect(failure).toBeUndefined();
    expect(detail.nameServers).toHaveLength(1);
    const wrong = await ask(['{{ONE}}', 'a b{{OTHER}}'], {}, { variables });
    expect(wrong.failure?.code).toBe('HOST_INVALID');
    expect((await ask(['{{#if}}'])).failure?.code).toBe('TEMPLATE_INVALID');
    const request = { nameServers: ['ns.example', '{{ONE}}'] };
    expect(openHosts({ request }, ['ONE'])).toEqual([{ field: 'request.nameServers', variable: 'ONE' }]);
  });

  it('write lines with their names to the log, and the files of the one that decides', async () => {
    const files: string[] = [];
    const artifacts = { add: async ({ name }: { name: string }) => files.push(name) > 0 };
    const log = createRunLog();
    const { failure } = await ask([current, `127.0.0.1:1`], {}, { artifacts, log, timeoutMs: 3000 });
    expect(failure?.code).toBe('CONNECTION_REFUSED');
    expect(log.entries.some(({ msg }) => msg.startsWith('127.0.0.1:1: '))).toBe(true);
    expect(new Set(files).size).toBe(files.length);
  });

  it('have a row each in the summary', async () => {
    const { detail } = await ask([current, outdated]);
    const table = summaryOf(detail).addresses?.table;
    expect(table?.rows.map(([name]) => name)).toEqual(
      [current, outdated].map((server) => ({ kind: 'code', text: nameOf(server) })),
    );
  });
});

it.each([
  [{ nameServers: ['a b'] }, 'request.nameServers.0'],
  [{ nameServers: ['ns.test:0'] }, 'request.nameServers.0'],
  [{ nameServers: ['ns.test', 'ns.test'] }, 'request.nameServers.1'],
  [{ nameServers: ['ns.test'], nameServer: 'ns.test', port: 53 }, 'request.nameServers'],
  [{ serversToPass: 'ANY' }, 'request.serversToPass'],
  [{ nameServers: Array.from({ length: 9 }, (_, index) => `ns${index}.test`) }, 'request.nameServers'],
])('a DNS monitor with %j is refused', (fields, path) => {
  const result = DnsSpec.safeParse({ request: { query: 'www.test', recordType: 'A', ...fields } });
  expect(result.error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
});

it('DNS over HTTPS takes paths and URLs among several name servers', () => {
  const request = { query: 'www.test', recordType: 'A', protocol: 'DOH' };
  const nameServers = ['https://dns.example/team-1', 'dns.example:8443/team-2', '[2001:db8::53]'];
  expect(DnsSpec.safeParse({ request: { ...request, nameServers } }).success).toBe(true);
});
