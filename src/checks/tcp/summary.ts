import { counted } from '@picket/lib/figures/count.ts';
import type { DetailSummary, SummarySection } from '../summary/detail-summary.ts';
import { dialogueMessage, dialogueSteps } from '../summary/dialogue.ts';
import { code, comparedText, fact } from '../summary/parts.ts';
import { certificateSections, probeParts } from '../summary/probe-parts.ts';
import type { TcpDetail } from './detail.ts';

const stepWords = { SEND: 'Send', EXPECT: 'Expect a line', START_TLS: 'Start TLS' } as const;

/** Summarizes a TCP monitor's result for people. */
export function summaryOf(detail: TcpDetail): DetailSummary {
  const { request, response, steps } = detail;
  const { timingPhases: phases, lines } = response;
  return {
    ...probeParts(detail),
    phases: phases
      ? [
          { name: 'DNS lookup', kind: 'dns', lengthMs: phases.dns },
          { name: 'TCP connection', kind: 'tcp', lengthMs: phases.connection },
          { name: 'TLS handshake', kind: 'tls', lengthMs: phases.tls },
          { name: 'Data', kind: 'download', lengthMs: phases.data },
        ]
      : [],
    sections: [
      ...(steps && lines ? dialogueSections(steps, lines) : []),
      {
        title: 'Connection',
        facts: [
          fact('Target', code(`${request.hostname}:${request.port}`)),
          fact('Address', response.ipAddress),
          fact('Encryption', encryptionOf(request, steps)),
          fact('Server name (SNI)', code(request.serverName)),
          fact('Error', code(response.error?.code)),
        ],
      },
      {
        title: 'Data',
        texts: [
          ...comparedText('Sent', request.data),
          ...(steps ? [] : comparedText('Received', response.data)),
        ],
      },
      ...certificateSections(response.certificate),
    ],
  };
}

function dialogueSections(
  steps: NonNullable<TcpDetail['steps']>,
  lines: NonNullable<TcpDetail['response']['lines']>,
): SummarySection[] {
  return [
    dialogueSteps(steps, stepWords, (count) => `${counted(count, 'line')} skipped`),
    { title: 'Conversation', id: 'conversation', conversation: lines.map(dialogueMessage) },
  ];
}

function encryptionOf({ useSSL, skipSSL }: TcpDetail['request'], steps: TcpDetail['steps']): string {
  const upgraded = steps?.findIndex(({ type, state }) => type === 'START_TLS' && state === 'DONE') ?? -1;
  if (!useSSL && upgraded < 0) return 'none';
  const since = useSSL ? '' : `, from step ${upgraded + 1} on`;
  return `TLS${since}${skipSSL ? ', certificate not verified' : ''}`;
}
