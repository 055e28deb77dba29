import type { DetailSummary, SummaryPhase, SummarySection, SummaryText } from '../summary/detail-summary.ts';
import { code, comparedText, fact, took, traceFact } from '../summary/parts.ts';
import { certificateSections, probeParts } from '../summary/probe-parts.ts';
import type { HttpDetail, HttpLoginDetail, HttpRedirectDetail, HttpTimingPhases } from './detail.ts';

/** Summarizes an HTTP result for people. */
export function summaryOf(detail: HttpDetail): DetailSummary {
  const { request, response } = detail;
  return {
    ...probeParts(detail),
    phases: phasesOf(response),
    sections: [
      {
        title: 'Request',
        id: 'request',
        line: { text: request.method, url: request.url },
        facts: Object.entries(request.params).map(([name, value]) => fact(name, value)),
        headers: request.headers,
        texts: comparedText('Request body', request.data),
      },
      responseSection(detail),
      ...redirectSections(response.redirects ?? []),
      ...certificateSections(response.certificate),
    ],
  };
}

function responseSection({ request, response }: HttpDetail): SummarySection {
  const { status, statusText, href, redirectCount, readLimitBytes } = response;
  return {
    title: 'Response',
    id: 'response',
    line: {
      text: status === 0 ? 'No response' : `${status} ${statusText}`.trim(),
      ...(href !== request.url && { url: href }),
    },
    facts: [
      fact('Address', response.ipAddress),
      fact('Server name (SNI)', code(request.serverName)),
      traceFact(request.traceparent),
      fact('HTTP', response.httpVersion),
      fact('Login', response.login ? loginText(response.login) : null),
      fact('Redirects', redirectCount > 0 ? redirectCount : null),
      fact('Read up to', readLimitBytes === null ? null : `${readLimitBytes} bytes`),
    ],
    headers: response.headers ?? {},
    texts: bodyTexts(response),
  };
}

/** Words for the states of a login. */
const loginWords: Readonly<Record<HttpLoginDetail['state'], string>> = {
  accepted: 'accepted',
  refused: 'refused',
  'not-asked': 'the server did not ask for it',
  'not-offered': 'the server does not offer it',
  unusable: 'the challenge cannot be answered',
};

function loginText({ scheme, algorithm, state, reason }: HttpLoginDetail): string {
  const words = [`${scheme}${algorithm === null ? '' : ` with ${algorithm}`}`, loginWords[state]];
  return [...words, ...(reason === null ? [] : [reason])].join(': ');
}

function bodyTexts({ body, bodyEncoding, truncated }: HttpDetail['response']): SummaryText[] {
  const notes = [
    ...(bodyEncoding === 'base64' ? ['The body is not text; this is its Base64.'] : []),
    ...(truncated ? ['The agent kept only the beginning.'] : []),
  ];
  const text = bodyEncoding === 'base64' ? body : indented(body);
  return comparedText('Response body', text).map((one) => ({
    ...one,
    compared: body,
    note: notes.join(' '),
  }));
}

/** Indents JSON for reading and leaves everything else unchanged. */
function indented(text: string): string {
  if (text.length > 200_000 || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // It only looks like JSON.
  }
}

/** Sections of the redirects, each with its response and its time. */
function redirectSections(redirects: readonly HttpRedirectDetail[]): SummarySection[] {
  if (redirects.length === 0) return [];
  const time = (title: string) => ({ title, isNumber: true });
  return [
    {
      title: 'Redirects',
      id: 'redirects',
      table: {
        caption: 'Redirects, in order',
        columns: [
          { title: 'Address', role: 'key' },
          { title: 'Status', isNumber: true, role: 'compared' },
          ...['DNS', 'TCP', 'TLS'].map(time),
          { title: 'Total', isNumber: true, role: 'compared' },
        ],
        rows: redirects.map(({ href, status, timingPhases: { dns, tcp, tls, total } }) => [
          ...[code(href), status],
          ...[dns, tcp, tls, total].map(took),
        ]),
      },
    },
  ];
}

/**
 * Shows each redirect as a phase of its own, before the phases of the last request: the stored phases are sums over the
 * chain.
 */
function phasesOf({ timingPhases: phases, redirects = [], login }: HttpDetail['response']): SummaryPhase[] {
  if (!phases) return [];
  const last = (name: keyof HttpTimingPhases) =>
    Math.max(
      0,
      redirects.reduce((rest, { timingPhases }) => rest - (timingPhases[name] ?? 0), phases[name] ?? 0),
    );
  const [tls, proxy, auth] = [last('tls'), last('proxy'), last('auth')];
  return [
    ...redirects.map(({ href, status, timingPhases }) => ({
      name: `${status} ${URL.parse(href)?.host ?? href}`,
      kind: 'other' as const,
      lengthMs: timingPhases.total,
    })),
    { name: 'Waiting for a socket', kind: 'wait', lengthMs: last('wait') },
    { name: 'DNS lookup', kind: 'dns', lengthMs: last('dns') },
    { name: 'TCP connection', kind: 'tcp', lengthMs: last('tcp') },
    { name: 'Proxy', kind: 'proxy', lengthMs: proxy },
    { name: 'TLS handshake', kind: 'tls', lengthMs: tls },
    ...(login?.legs ?? []).map(({ status, wait, download }, index) => ({
      name: `Login, request ${index + 1} (${status})`,
      kind: 'other' as const,
      lengthMs: wait + download,
    })),
    // The stored phase includes those of the proxy, of TLS and of the login.
    {
      name: 'Waiting for response',
      kind: 'first-byte',
      lengthMs: Math.max(0, last('firstByte') - tls - proxy - auth),
    },
    { name: 'Download', kind: 'download', lengthMs: last('download') },
  ];
}
