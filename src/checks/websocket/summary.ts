import { counted } from '@picket/lib/figures/count.ts';
import type { DetailSummary, SummaryMessage, SummarySection } from '../summary/detail-summary.ts';
import { dialogueMessage, dialogueSteps } from '../summary/dialogue.ts';
import { code, comparedText, fact, took, traceFact } from '../summary/parts.ts';
import { certificateSections, probeParts } from '../summary/probe-parts.ts';
import type { WebSocketDetail } from './detail.ts';

type Response = NonNullable<WebSocketDetail['response']>;

/** Summarizes a WebSocket monitor's result for people. */
export function summaryOf(detail: WebSocketDetail): DetailSummary {
  const { request, response, steps } = detail;
  const sent: SummarySection = {
    title: 'Handshake',
    line: { text: 'GET', url: request.url },
    facts: [
      fact('Subprotocols offered', request.subprotocols.join(', ') || null),
      fact('Server name (SNI)', code(request.serverName)),
      traceFact(request.traceparent),
    ],
    headers: request.headers,
  };
  if (!response) return { ...probeParts(detail), sections: [sent] };
  const { dns, connect, proxy, tls, handshake, messages } = response.timingPhases;
  return {
    ...probeParts(detail),
    phases: [
      { name: 'DNS lookup', kind: 'dns', lengthMs: dns },
      { name: 'TCP connection', kind: 'tcp', lengthMs: connect },
      { name: 'Proxy', kind: 'proxy', lengthMs: proxy },
      { name: 'TLS handshake', kind: 'tls', lengthMs: tls },
      { name: 'WebSocket upgrade', kind: 'first-byte', lengthMs: handshake },
      { name: 'Messages', kind: 'download', lengthMs: messages },
    ],
    sections: [
      { title: 'Conversation', id: 'conversation', conversation: conversationOf(response, steps) },
      dialogueSteps(steps, stepWords, (count) => `${counted(count, 'message')} skipped`),
      sent,
      responseSection(response),
      closeSection(response),
      ...certificateSections(response.certificate),
    ],
  };
}

const stepWords = {
  SEND: 'Send',
  EXPECT: 'Expect a message',
  EXPECT_CLOSE: 'Expect the close',
} as const;

function responseSection(response: Response): SummarySection {
  const { status, statusText, headers, body } = response;
  return {
    title: 'Response of the handshake',
    facts: [
      fact(
        'Status',
        status === 0 ? 'no response' : `${status} ${statusText}`.trim(),
        status === 101 ? null : 'not switched',
      ),
      fact('Subprotocol', response.subprotocol),
      fact('Address', response.ipAddress),
    ],
    headers: headers ?? {},
    texts: comparedText('Response body', body),
  };
}

function closeSection(response: Response): SummarySection {
  const { closeCode, closeReason, isClosedByTarget, closeTimeMs, receivedCount, pingCount } = response;
  return {
    title: 'Close',
    facts: [
      fact('Messages received', receivedCount),
      fact('Pings answered', pingCount === 0 ? null : pingCount),
      fact('Close code', closeCode, closeCode === 1006 ? 'the server sent no close frame' : null),
      fact('Reason', closeReason || null),
      fact('Closed first by', closeCode === null ? null : isClosedByTarget ? 'the server' : 'the check'),
      fact('Close took', took(closeTimeMs)),
    ],
  };
}

function conversationOf(response: Response, steps: WebSocketDetail['steps']): SummaryMessage[] {
  const { messages, omittedCount } = response;
  const shown = messages.map(
    ({ direction, type, text, truncated, sizeBytes, atMs, step }): SummaryMessage => {
      const about = type === 'BINARY' ? `binary, ${sizeBytes} bytes` : `${sizeBytes} bytes`;
      const isWrong = step !== null && direction === 'RECEIVED' && steps[step - 1]?.state === 'FAILED';
      return {
        ...dialogueMessage({ direction, text, truncated, atMs, step, about }),
        problem: isWrong ? 'not what the step expects' : null,
      };
    },
  );
  if (omittedCount === 0) return shown;
  const middle = messages.length / 2;
  const gap = {
    isSent: false,
    atMs: shown[middle]?.atMs ?? 0,
    text: '…',
    note: `${omittedCount} messages were not kept`,
  };
  return [...shown.slice(0, middle), gap, ...shown.slice(middle)];
}
