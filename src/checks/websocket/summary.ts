import { durationText } from '../../lib/figures/duration.ts';
import type {
  DetailSummary,
  SummaryFact,
  SummaryMessage,
  SummarySection,
} from '../summary/detail-summary.ts';
import type { WebSocketDetail } from './detail.ts';

type Response = NonNullable<WebSocketDetail['response']>;

/** What people read of a WebSocket monitor's result. */
export function summaryOf({ request, response, steps }: WebSocketDetail): DetailSummary {
  const asked: SummarySection = {
    title: 'Handshake',
    facts: [
      fact('URL', request.url),
      fact('Subprotocols offered', request.subprotocols.join(', ') || null),
      fact('Name for TLS', request.serverName ?? null),
      fact('Trace', request.traceparent?.slice(3, 35) ?? null),
      ...Object.entries(request.headers).map(([name, value]) => fact(name, value)),
    ],
  };
  if (!response) return { phases: [], sections: [asked] };
  const { dns, connect, proxy, tls, handshake, messages } = response.timingPhases;
  return {
    phases: [
      { name: 'Name (DNS)', kind: 'dns', lengthMs: dns },
      { name: 'Connection (TCP)', kind: 'tcp', lengthMs: connect },
      { name: 'Proxy', kind: 'proxy', lengthMs: proxy },
      { name: 'Handshake (TLS)', kind: 'tls', lengthMs: tls },
      { name: 'Handshake (WebSocket)', kind: 'first-byte', lengthMs: handshake },
      { name: 'Messages', kind: 'download', lengthMs: messages },
    ],
    sections: [...stepSection(steps), asked, answerSection(response), closeSection(response)],
    conversation: conversationOf(response, steps),
  };
}

const stateWords = { DONE: 'done', NOT_REACHED: 'not reached' } as const;
const stepWords = {
  SEND: 'Send',
  EXPECT: 'Expect a message',
  EXPECT_CLOSE: 'Expect the close',
} as const;

function stepSection(steps: WebSocketDetail['steps']): SummarySection[] {
  if (steps.length === 0) return [];
  const facts = steps.map(({ type, state, waitMs, skippedCount }, index) => {
    const passedOver = skippedCount === 1 ? '1 message passed over' : `${skippedCount} messages passed over`;
    const parts = [
      ...(state === 'FAILED' ? [] : [stateWords[state]]),
      ...(type === 'SEND' || state === 'NOT_REACHED' ? [] : [`after ${durationText(waitMs)}`]),
      ...(skippedCount === 0 ? [] : [passedOver]),
    ];
    return fact(`${index + 1}. ${stepWords[type]}`, parts.join(', '), state === 'FAILED' ? 'failed' : null);
  });
  return [{ title: 'Steps', facts }];
}

function answerSection(response: Response): SummarySection {
  const { status, statusText, headers, certificate } = response;
  return {
    title: 'Answer of the handshake',
    facts: [
      fact(
        'Status',
        status === 0 ? 'no answer' : `${status} ${statusText}`.trim(),
        status === 101 ? null : 'not switched',
      ),
      fact('Subprotocol', response.subprotocol),
      fact('Address', response.ipAddress),
      ...Object.entries(headers ?? {}).map(([name, value]) => fact(name, value)),
      fact('Body', response.body || null),
      fact('Certificate', certificate?.subject ?? null),
      fact('Certificate valid to', certificate?.validTo ?? null),
    ],
  };
}

function closeSection(response: Response): SummarySection {
  const { closeCode, closeReason, isClosedByTarget, closeTimeMs, receivedCount, pingCount } = response;
  return {
    title: 'End of the conversation',
    facts: [
      fact('Messages received', receivedCount),
      fact('Pings answered', pingCount === 0 ? null : pingCount),
      fact('Close code', closeCode, closeCode === 1006 ? 'the server sent no close frame' : null),
      fact('Reason', closeReason || null),
      fact('Closed first by', closeCode === null ? null : isClosedByTarget ? 'the server' : 'the check'),
      fact('Close took', closeTimeMs === null ? null : durationText(closeTimeMs)),
    ],
  };
}

function conversationOf(response: Response, steps: WebSocketDetail['steps']): SummaryMessage[] {
  const { messages, omittedCount } = response;
  const shown = messages.map(
    ({ direction, type, text, truncated, sizeBytes, atMs, step }): SummaryMessage => {
      const what = type === 'BINARY' ? `binary, ${sizeBytes} bytes` : `${sizeBytes} bytes`;
      const where = step === null ? 'no step took it' : `step ${step}`;
      const isWrong = step !== null && direction === 'RECEIVED' && steps[step - 1]?.state === 'FAILED';
      return {
        isSent: direction === 'SENT',
        ...{ atMs, text },
        note: `${where}, ${what}${truncated ? ', cut' : ''}`,
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
    note: `${omittedCount} messages are not kept`,
  };
  return [...shown.slice(0, middle), gap, ...shown.slice(middle)];
}

function fact(name: string, value: string | number | null, problem: string | null = null): SummaryFact {
  return { name, value, problem };
}
