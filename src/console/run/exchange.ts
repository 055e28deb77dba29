import type { DnsDetail } from '../../checks/dns/detail.ts';
import type { HeartbeatDetail } from '../../checks/heartbeat/check.ts';
import type { CertificateDetail, HttpDetail, HttpRedirectDetail } from '../../checks/http/detail.ts';
import type { IcmpDetail, PingResult } from '../../checks/icmp/detail.ts';
import type { TcpDetail } from '../../checks/tcp/detail.ts';
import { expiryText } from '../../lib/figures/days-left.ts';
import { shareOfPercent } from '../../lib/figures/share.ts';
import { duration, instant, percent, shortened } from '../elements/format.ts';
import { facts, table } from '../elements/table.ts';
import { block, headerList, section, visible } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';
import { dialogueSections } from './summary/dialogue.ts';

/** Request and response of a check over HTTP. */
export function httpSections({ request, response }: HttpDetail): Content[] {
  const status = response.status === 0 ? 'No answer' : `${response.status} ${response.statusText}`.trim();
  const params = Object.entries(request.params);
  return [
    section(
      'Request',
      html`<p class="mono line"><b>${request.method}</b> ${visible(request.url)}</p>${
        params.length > 0 ? facts(params.map(([name, value]) => [name, visible(value)])) : ''
      }${headerList(request.headers)}${request.data === '' ? '' : block('Body of the request', request.data)}`,
      'request',
    ),
    section(
      'Response',
      html`<p class="mono line"><b>${visible(status)}</b>${response.href !== request.url ? html` from ${visible(response.href)}` : ''}</p>
${facts([
  ['Address', response.ipAddress],
  ['Name for TLS', request.serverName ? html`<code>${visible(request.serverName)}</code>` : ''],
  ['Trace', request.traceparent ? html`<code>${request.traceparent.slice(3, 35)}</code>` : ''],
  ['HTTP', response.httpVersion],
  ['Redirects', response.redirectCount > 0 ? response.redirectCount : ''],
  ['Read up to', response.readLimitBytes === null ? '' : `${response.readLimitBytes} bytes`],
])}${headerList(response.headers ?? {})}${body(response)}`,
      'response',
    ),
    redirectSection(response.redirects ?? []),
    certificateSection(response.certificate),
  ];
}

/** What led there: each address with what it answered, and what that took. */
function redirectSection(redirects: readonly HttpRedirectDetail[]): Html | '' {
  if (redirects.length === 0) return '';
  return section(
    'Redirects',
    table<HttpRedirectDetail>({
      caption: 'Redirects, in their order',
      rows: redirects,
      empty: '',
      columns: [
        { title: 'Address', cell: ({ href }) => html`<code>${visible(shortened(href, 200))}</code>` },
        { title: 'Answer', cell: ({ status }) => status, isNumber: true },
        { title: 'Name', cell: ({ timingPhases }) => duration(timingPhases.dns), isNumber: true },
        { title: 'Connection', cell: ({ timingPhases }) => duration(timingPhases.tcp), isNumber: true },
        { title: 'Encryption', cell: ({ timingPhases }) => duration(timingPhases.tls), isNumber: true },
        { title: 'In all', cell: ({ timingPhases }) => duration(timingPhases.total), isNumber: true },
      ],
    }),
    'redirects',
  );
}

function body({ body: text, bodyEncoding, truncated }: HttpDetail['response']): Content {
  if (text === '') return '';
  const note = truncated ? html`<p class="hint">The agent kept the beginning only.</p>` : '';
  if (bodyEncoding === 'base64') {
    return [
      html`<p class="hint">The body is no text; this is its Base64.</p>`,
      block('Body of the response', text),
      note,
    ];
  }
  return [block('Body of the response', indented(text)), note];
}

/** JSON is easier to read with its structure; everything else stays as it came. */
function indented(text: string): string {
  if (text.length > 200_000 || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // It only looks like JSON.
  }
}

export function certificateSection(certificate: CertificateDetail | null): Html | '' {
  if (!certificate) return '';
  const { host, subject, issuer, validTo, daysRemaining, protocol, cipher } = certificate;
  return section(
    'Certificate',
    facts([
      ['Shown by', host],
      ['Issued to', subject === null ? '' : visible(subject)],
      ['Issued by', issuer === null ? '' : visible(issuer)],
      [
        'Valid to',
        html`${instant(validTo)} <span class="${daysRemaining < 14 ? 'error' : 'soft'}">the first of its chain ${expiryText(daysRemaining)}</span>`,
      ],
      ['Protocol', protocol],
      ['Cipher', cipher],
    ]),
    'certificate',
  );
}

export function tcpSections({ request, response, steps }: TcpDetail): Content[] {
  return [
    ...dialogueSections(response.lines, steps),
    section(
      'Connection',
      facts([
        ['Target', html`<code>${visible(request.hostname)}:${request.port}</code>`],
        ['Address', response.ipAddress],
        ['Encryption', encryptionOf(request, steps)],
        ['Name for TLS', request.serverName ? html`<code>${visible(request.serverName)}</code>` : ''],
        ['Error', response.error ? html`<code>${visible(response.error.code)}</code>` : ''],
      ]),
    ),
    request.data ? section('Sent', block('Data sent', request.data)) : '',
    response.data && !steps ? section('Received', block('Data received', response.data)) : '',
    certificateSection(response.certificate),
  ];
}

function encryptionOf({ useSSL, skipSSL }: TcpDetail['request'], steps: TcpDetail['steps']): string {
  const upgraded = steps?.findIndex(({ type, state }) => type === 'START_TLS' && state === 'DONE') ?? -1;
  if (!useSSL && upgraded < 0) return 'none';
  const since = useSSL ? '' : `, from step ${upgraded + 1} on`;
  return `TLS${since}${skipSSL ? ', certificate not judged' : ''}`;
}

/** The answer as `dig` would print it. */
export function dnsSections({ request, response }: DnsDetail): Content[] {
  const { json, nameServerInfo: server } = response;
  return [
    section(
      'Question',
      facts([
        ['Name', html`<code>${visible(request.query)}</code>`],
        ['Type', `${request.recordClass ?? 'IN'} ${request.recordType}`],
        ['Protocol', response.retriedOverTcp ? `${request.protocol}, again over TCP` : request.protocol],
        [
          'Name server',
          server ? html`<code>${visible(server.name ?? server.host)}:${server.port}</code>` : '',
        ],
        ['Response code', response.returnCode],
      ]),
    ),
    json
      ? section('Answer', block('Answer of the name server', digText(json, request.recordClass ?? 'IN')))
      : response.answer === ''
        ? ''
        : section('Answer', block('Answer of the name server', response.answer)),
  ];
}

function digText(json: NonNullable<DnsDetail['response']['json']>, recordClass: string): string {
  const flags = (['AA', 'TC', 'RD', 'RA', 'AD', 'CD'] as const)
    .filter((flag) => json[flag])
    .map((flag) => flag.toLowerCase());
  const records = (list: (typeof json)['Answer']) =>
    list.map(({ name, TTL, type, data }) => `${name}\t${TTL}\t${recordClass}\t${type}\t${data}`);
  return [
    `;; status: ${json.Status}; flags: ${flags.join(' ')}`,
    ';; QUESTION',
    ...json.Question.map(({ name, type }) => `;${name}\tIN\t${type}`),
    ...(json.Answer.length > 0 ? ['', ';; ANSWER', ...records(json.Answer)] : []),
    ...(json.Authority.length > 0 ? ['', ';; AUTHORITY', ...records(json.Authority)] : []),
    ...(json.Additional && json.Additional.length > 0
      ? ['', ';; ADDITIONAL', ...records(json.Additional)]
      : []),
  ].join('\n');
}

/** A ping that a job sent, or one that did not come. */
export function pingSection({ state, source, userAgent }: HeartbeatDetail): Html {
  return section(
    'Ping',
    facts([
      ['What came', state.toLowerCase().replaceAll('_', ' ')],
      ['From', source === null ? '' : visible(source)],
      ['Sent by', userAgent === null ? '' : visible(userAgent)],
    ]),
  );
}

export function icmpSections({ request, response }: IcmpDetail): Content[] {
  const { latency } = response;
  return [
    section(
      'Pings',
      html`${facts([
        ['Target', html`<code>${visible(request.hostname)}</code>`],
        ['Address', response.resolvedIp],
        ['Answered', `${response.packetsReceived} of ${response.packetsSent}`],
        ['Packet loss', response.packetLoss === null ? '' : percent(shareOfPercent(response.packetLoss))],
        ['Average', latency ? duration(latency.avg) : ''],
        ['Slowest', latency ? duration(latency.max) : ''],
      ])}${table<PingResult>({
        caption: 'Echo requests',
        rows: response.pingResults,
        empty: 'No echo request was sent.',
        columns: [
          { title: '#', cell: ({ sequence }) => sequence + 1, isNumber: true },
          { title: 'Round trip', cell: ({ rtt }) => (rtt === null ? '–' : duration(rtt)), isNumber: true },
          { title: 'TTL', cell: ({ ttl }) => ttl ?? '–', isNumber: true },
          { title: 'From', cell: ({ from }) => (from === null ? '–' : html`<code>${from}</code>`) },
          { title: 'What happened', cell: ({ error }) => (error === null ? 'answered' : visible(error)) },
        ],
      })}`,
    ),
  ];
}
