import { type AssertableValue, asFast, sameAgain, sameJson } from '../assertable/assertable.ts';
import { headerFacts, hostOf, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import { isCredentialHeader } from '../judging/credential-headers.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { CertificateDetail, HttpDetail } from './detail.ts';

export function httpFacts(detail: HttpDetail): RunFacts {
  const { request, response } = detail;
  const { status, statusText, headers, body, redirects, timingPhases, ipAddress } = response;
  return {
    ...noFacts,
    ...diagnosisFacts(detail),
    ...urlFacts(request.url),
    method: request.method || null,
    traceparent: request.traceparent ?? null,
    address: ipAddress,
    status: status || null,
    statusText: statusText || null,
    // Made when they are read: each stored result asks only for its target.
    get headers() {
      return headerFacts(headers);
    },
    get requestHeaders() {
      return headerFacts(request.headers);
    },
    body,
    isBodyCut: response.truncated || response.bodyEncoding !== undefined,
    redirects: redirects ?? [],
    phases: phaseFacts(timingPhases),
    certificate: certificateFacts(response.certificate),
    assertions: detail.assertions,
  };
}

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'ws:': 80, 'https:': 443, 'wss:': 443 };

/** Facts about the URL of a request. */
export function urlFacts(url: string): Pick<RunFacts, 'url' | 'host' | 'port'> {
  const parsed = URL.parse(url);
  return {
    url: url || null,
    host: hostOf(url, parsed),
    port: parsed ? Number(parsed.port) || (defaultPorts[parsed.protocol] ?? null) : null,
  };
}

export function certificateFacts(certificate: CertificateDetail | null): RunFacts['certificate'] {
  if (!certificate) return null;
  const { host = null, subject, issuer, validTo } = certificate;
  return { host, subject: subject || null, issuer: issuer || null, validTo };
}

/** Returns what can be asserted of an HTTP response. */
export function httpAssertable({ response }: HttpDetail): AssertableValue[] {
  const { status, headers, timings, body, bodyEncoding, truncated } = response;
  if (status === 0) return [];
  const shownHeaders = Object.entries(headers ?? {}).filter(([name]) => !isCredentialHeader(name));
  return [
    ...sameAgain('Status', 'STATUS_CODE', status),
    ...(timings ? asFast(timings.end) : []),
    ...shownHeaders.flatMap(([name, value]) => sameAgain(name, 'HEADERS', value, name)),
    ...(bodyEncoding === undefined && !truncated ? sameJson('JSON_BODY', body) : []),
  ];
}
