import { DnsDetail } from '../../checks/dns/detail.ts';
import { type CertificateDetail, HttpDetail } from '../../checks/http/detail.ts';
import { IcmpDetail } from '../../checks/icmp/detail.ts';
import { PlaywrightDetail } from '../../checks/playwright/detail.ts';
import { BrowserDetail, MultiStepDetail } from '../../checks/script/detail.ts';
import type { DetailSummary } from '../../checks/summary/detail-summary.ts';
import { TcpDetail } from '../../checks/tcp/detail.ts';
import type { CheckResult } from '../../protocol/results/check-result.ts';
import { bytes, duration } from '../elements/format.ts';
import { dnsPhases, httpPhases, tcpPhases } from './phases.ts';
import { summarisedDetail } from './summary/summary.ts';

/** Something that two runs can be compared by. */
export interface Fact {
  readonly group: string;
  readonly name: string;
  /** As people read it. */
  readonly value: string;
  /** For lengths of time: they are never the same, and differ only where they do by much. */
  readonly ms?: number;
  /** Differs from run to run by its nature. */
  readonly isVolatile?: boolean;
}

type Named = readonly [name: string, value: string | number | null | undefined];

/** What a run found out, as a list. */
export function factsOf(result: CheckResult): Fact[] {
  const { responseTime, runLocation, failure } = result;
  return [
    { group: 'Run', name: 'Location', value: runLocation },
    { group: 'Run', name: 'Failure', value: failure?.code ?? 'none' },
    { group: 'Run', name: 'Response time', value: duration(responseTime), ms: responseTime },
    ...detailFacts(result),
  ];
}

function detailFacts(result: CheckResult): Fact[] {
  const summarised = summarisedDetail(result);
  if (summarised) return summaryFacts(summarised.summary);
  const { apiCheckResult, browserCheckResult, multiStepCheckResult, playwrightCheckResult } = result;
  const http = HttpDetail.safeParse(apiCheckResult);
  if (http.success) return httpFacts(http.data);
  const tcp = TcpDetail.safeParse(apiCheckResult);
  if (tcp.success) return tcpFacts(tcp.data);
  const dns = DnsDetail.safeParse(apiCheckResult);
  if (dns.success) return dnsFacts(dns.data);
  const icmp = IcmpDetail.safeParse(apiCheckResult);
  if (icmp.success) return icmpFacts(icmp.data);
  const browser = BrowserDetail.safeParse(browserCheckResult);
  if (browser.success) {
    return [
      ...testFacts(browser.data.tests),
      ...browser.data.pages.flatMap(({ url, webVitals: { LCP, TTFB } }) => [
        ...(TTFB === null ? [] : [timeFact('Pages', `${url}: first byte`, TTFB.value)]),
        ...(LCP === null ? [] : [timeFact('Pages', `${url}: largest content`, LCP.value)]),
      ]),
      ...group('Pages', [
        ['Errors of the console', browser.data.traceSummary.consoleErrors],
        ['Errors of the network', browser.data.traceSummary.networkErrors],
        ['Errors of documents', browser.data.traceSummary.documentErrors],
      ]),
    ];
  }
  const script = MultiStepDetail.safeParse(multiStepCheckResult);
  if (script.success) return testFacts(script.data.tests);
  const suite = PlaywrightDetail.safeParse(playwrightCheckResult);
  return suite.success ? testFacts(suite.data.tests) : [];
}

function summaryFacts({ phases, sections }: DetailSummary): Fact[] {
  return [
    ...sections.flatMap(({ title, facts }) =>
      group(
        title,
        facts.map(({ name, value }) => [name, value]),
      ),
    ),
    ...phases.map(({ name, lengthMs }) => timeFact('Time', name, lengthMs)),
  ];
}

function httpFacts({ request, response }: HttpDetail): Fact[] {
  const { status, statusText, ipAddress, httpVersion, redirectCount, href, body, headers } = response;
  return [
    ...group('Request', [
      ['Method', request.method],
      ['Address', request.url],
      ['Body', request.data],
    ]),
    ...group('Response', [
      ['Status', status === 0 ? 'no answer' : `${status} ${statusText}`.trim()],
      ['Address of the target', ipAddress],
      ['HTTP', httpVersion],
      ['Redirects', redirectCount],
      ['Answered by', href],
    ]),
    ...httpPhases({ request, response } as HttpDetail).map(({ name, lengthMs }) =>
      timeFact('Time', name, lengthMs),
    ),
    ...certificateFacts(response.certificate),
    ...Object.entries(headers ?? {}).map(([name, value]) => ({
      group: 'Headers',
      name: name.toLowerCase(),
      value,
      isVolatile: volatileHeaders.test(name),
    })),
    ...bodyFacts(body),
  ];
}

/** Headers that no two answers share. */
const volatileHeaders =
  /^(date|age|expires|set-cookie|etag|last-modified|.*request-id|.*trace.*|cf-ray|x-amz-.*)$/i;

function bodyFacts(body: string): Fact[] {
  return [
    { group: 'Body', name: 'Size', value: bytes(Buffer.byteLength(body)) },
    ...body
      .split('\n', comparedLines)
      .map((line, index) => ({ group: 'Body', name: `Line ${index + 1}`, value: line.slice(0, 300) })),
  ];
}

/** Of longer bodies the beginning is compared. */
const comparedLines = 2_000;

function tcpFacts(detail: TcpDetail): Fact[] {
  const { response } = detail;
  return [
    ...group('Connection', [
      ['Address of the target', response.ipAddress],
      ['Error', response.error?.code],
    ]),
    ...tcpPhases(detail).map(({ name, lengthMs }) => timeFact('Time', name, lengthMs)),
    ...certificateFacts(response.certificate),
    ...bodyFacts(response.data ?? ''),
  ];
}

function dnsFacts(detail: DnsDetail): Fact[] {
  const { returnCode, json, answer, nameServerInfo } = detail.response;
  const records = json?.Answer.map(({ name, type, data }) => `${name} ${type} ${data}`).sort();
  return [
    ...group('Answer', [
      ['Response code', returnCode],
      ['Name server', nameServerInfo ? (nameServerInfo.name ?? nameServerInfo.host) : null],
      ['Records', records ? records.join('\n') : answer],
    ]),
    ...dnsPhases(detail).map(({ name, lengthMs }) => timeFact('Time', name, lengthMs)),
  ];
}

function icmpFacts({ response }: IcmpDetail): Fact[] {
  const { resolvedIp, packetsReceived, packetsSent, latency } = response;
  return [
    ...group('Pings', [
      ['Address of the target', resolvedIp],
      ['Answered', `${packetsReceived} of ${packetsSent}`],
    ]),
    ...(latency ? [timeFact('Time', 'Average', latency.avg), timeFact('Time', 'Slowest', latency.max)] : []),
  ];
}

function certificateFacts(certificate: CertificateDetail | null): Fact[] {
  if (!certificate) return [];
  const { subject, issuer, validTo, protocol, cipher } = certificate;
  return group('Certificate', [
    ['Issued to', subject],
    ['Issued by', issuer],
    ['Valid to', validTo],
    ['Protocol', protocol],
    ['Cipher', cipher],
  ]);
}

function testFacts(
  tests: readonly { readonly title: string; readonly status: string; readonly durationMs: number }[],
): Fact[] {
  return tests.flatMap(({ title, status, durationMs }) => [
    { group: 'Tests', name: title, value: status },
    timeFact('Time', title, durationMs),
  ]);
}

function timeFact(inGroup: string, name: string, ms: number): Fact {
  return { group: inGroup, name, value: duration(ms), ms };
}

function group(name: string, facts: readonly Named[]): Fact[] {
  return facts.flatMap(([fact, value]) =>
    value === null || value === undefined || value === ''
      ? []
      : [{ group: name, name: fact, value: String(value) }],
  );
}
