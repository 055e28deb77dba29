import type { DetailSummary, SummarySection, SummaryText } from '../summary/detail-summary.ts';
import { code, comparedText, fact, took } from '../summary/parts.ts';
import { probeParts } from '../summary/probe-parts.ts';
import type { DnsDetail, DnsJson } from './detail.ts';

/** Summarizes a DNS monitor's result for people. */
export function summaryOf(detail: DnsDetail): DetailSummary {
  const { request, response } = detail;
  const { nameServerInfo: server, returnCode } = response;
  const recordClass = request.recordClass ?? 'IN';
  return {
    ...probeParts(detail),
    addresses: detail.nameServers && serversSection(detail.nameServers),
    phases: returnCode === '' ? [] : [{ name: 'DNS response', kind: 'dns', lengthMs: response.responseTime }],
    sections: [
      {
        title: 'Question',
        facts: [
          fact('Name', code(request.query)),
          fact('Type', `${recordClass} ${request.recordType}`),
          fact(
            'Protocol',
            response.retriedOverTcp ? `${request.protocol}, again over TCP` : request.protocol,
          ),
          fact('Name server', code(server && `${server.name ?? server.host}:${server.port}`)),
          fact('Response code', returnCode),
        ],
      },
      { title: 'Answer', texts: answerTexts(response, recordClass) },
    ],
  };
}

/** A row for each of several name servers. */
function serversSection(servers: NonNullable<DnsDetail['nameServers']>): SummarySection {
  const well = servers.filter(({ verdict }) => verdict !== 'failed').length;
  return {
    title: 'Name servers',
    id: 'name-servers',
    note: `${well} of ${servers.length} answer as expected. The rest of this page shows the one that decides.`,
    table: {
      caption: 'Results by name server',
      columns: [
        { title: 'Name server', role: 'key' },
        { title: 'Verdict', role: 'compared' },
        { title: 'Response code' },
        { title: 'Time', isNumber: true, role: 'compared' },
        { title: 'Answer', isMinor: true },
        { title: 'Why' },
      ],
      rows: servers.map(({ nameServer, verdict, returnCode, responseTime, answer, message }) => [
        code(nameServer),
        { kind: 'state', state: verdict, text: verdict },
        returnCode || null,
        took(responseTime),
        // Sorted, because the order of records varies.
        answer.split('\n').sort().join(', ') || null,
        message,
      ]),
    },
  };
}

function answerTexts({ json, answer }: DnsDetail['response'], recordClass: string): SummaryText[] {
  if (!json) return comparedText('Records', answer);
  // Without TTLs, which count down, and sorted, because the order of records varies.
  const records = json.Answer.map(({ name, type, data }) => `${name} ${type} ${data}`).sort();
  return [{ label: 'As dig prints it', text: digText(json, recordClass), compared: records.join('\n') }];
}

/** Formats the response as `dig` does. */
function digText(json: DnsJson, recordClass: string): string {
  const flags = (['AA', 'TC', 'RD', 'RA', 'AD', 'CD'] as const)
    .filter((flag) => json[flag])
    .map((flag) => flag.toLowerCase());
  const records = (title: string, list: DnsJson['Answer'] = []) =>
    list.length === 0
      ? []
      : [
          ...['', `;; ${title}`],
          ...list.map(({ name, TTL, type, data }) => `${name}\t${TTL}\t${recordClass}\t${type}\t${data}`),
        ];
  return [
    `;; status: ${json.Status}; flags: ${flags.join(' ')}`,
    ';; QUESTION',
    ...json.Question.map(({ name, type }) => `;${name}\tIN\t${type}`),
    ...records('ANSWER', json.Answer),
    ...records('AUTHORITY', json.Authority),
    ...records('ADDITIONAL', json.Additional),
  ].join('\n');
}
