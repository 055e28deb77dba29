import { toError } from '@picket/lib/errors.ts';
import { parseJson } from '@picket/lib/json/json-document.ts';
import { bareHostname } from '@picket/probes/connection/forward-proxy.ts';
import type { WebSocketProbeResult } from '@picket/probes/websocket/probe.ts';
import type { ExchangedMessage } from '@picket/probes/websocket/steps.ts';
import { familyName } from '../contract/ip-family.ts';
import { timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import { decodeText, maxStoredBytes } from '../http/body.ts';
import { certificateDetail } from '../http/certificate.ts';
import { tcpConnectionSource } from '../http/connection-assertion.ts';
import { headerPairs, headerValue, joinedHeaders } from '../http/header-map.ts';
import type { PreparedRequest } from '../http/request.ts';
import type { Sources } from '../judging/evaluate.ts';
import { bothEnds, placeOf } from '../steps/shown-steps.ts';
import type { WebSocketDetail } from './detail.ts';
import type { WebSocketSpec } from './spec.ts';
import { textOf } from './steps.ts';

/** Characters of each message that a result keeps. */
const keptLetters = 16 * 1024;

type Response = NonNullable<WebSocketDetail['response']>;

export type OwnDetail = Pick<WebSocketDetail, 'request' | 'steps' | 'response'>;

/** The detail of a run that sent nothing. */
export function unsentDetail({ request: { url, subprotocols } }: WebSocketSpec): OwnDetail {
  return { request: { url, headers: {}, subprotocols }, steps: [], response: null };
}

/** The request, the response and the messages of a run. */
export function detailOf(
  spec: WebSocketSpec,
  { url, headers, serverName, trace }: PreparedRequest,
  result: WebSocketProbeResult,
  steps: WebSocketDetail['steps'],
): OwnDetail {
  return {
    request: {
      url: url.href,
      headers: headerPairs(headers),
      subprotocols: spec.request.subprotocols,
      ...(serverName !== undefined && { serverName }),
      ...(trace?.isFor(bareHostname(url)) && { traceparent: trace.traceparent }),
    },
    steps,
    response: responseOf(result),
  };
}

function responseOf(result: WebSocketProbeResult): Response {
  const { head, address, close, closeMs, messages } = result;
  return {
    status: head?.status ?? 0,
    statusText: head?.statusText ?? '',
    headers: head ? joinedHeaders(head.headers) : null,
    body: decodeText(result.refusal, headerValue(head?.headers, 'content-type'), true),
    subprotocol: result.subprotocol,
    ipAddress: address,
    ipFamily: familyName(address),
    certificate: certificateDetail(result.certificate),
    timingPhases: timesToMicroseconds(result.phases),
    ...shownMessages(messages),
    receivedCount: received(messages).length,
    pingCount: result.pingCount,
    closeCode: close?.code ?? null,
    closeReason: close?.reason ?? '',
    isClosedByTarget: close?.isByTarget ?? false,
    closeTimeMs: closeMs === undefined ? null : toMicroseconds(closeMs),
  };
}

/** Returns the beginning and the end of a long exchange, and the beginning of long messages. */
function shownMessages(messages: readonly ExchangedMessage[]): Pick<Response, 'messages' | 'omittedCount'> {
  const kept = bothEnds(messages);
  let leftBytes = maxStoredBytes;
  const shown = kept.map((message): Response['messages'][number] => {
    const text = textOf(message);
    const beginning = text.slice(0, Math.min(keptLetters, leftBytes)).toWellFormed();
    leftBytes -= Buffer.byteLength(beginning);
    return {
      ...placeOf(message),
      type: message.isText ? 'TEXT' : 'BINARY',
      text: beginning,
      truncated: beginning.length < text.length,
      sizeBytes: message.data.length,
    };
  });
  return { messages: shown, omittedCount: messages.length - kept.length };
}

function received(messages: readonly ExchangedMessage[]): ExchangedMessage[] {
  return messages.filter(({ isSent }) => !isSent);
}

/** Sources of the assertions of a WebSocket monitor. */
export function sourcesOf(result: WebSocketProbeResult, responseTimeMs: number): Sources {
  const { head, close, messages } = result;
  const texts = () => received(messages).map(textOf);
  return {
    // Assertions compare whole milliseconds; otherwise `EQUALS 120` could never hold.
    RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
    STATUS_CODE: () => ({ kind: 'value', value: head?.status }),
    HEADERS: () => ({ kind: 'headers', headers: joinedHeaders(head?.headers) }),
    SUBPROTOCOL: () => ({ kind: 'value', value: result.subprotocol }),
    TEXT_BODY: () => ({ kind: 'text', text: texts().join('\n') }),
    JSON_BODY: () => {
      try {
        return { kind: 'json', document: texts().map(jsonOrText) };
      } catch (thrown) {
        const reason = `the messages are too large for JSON assertions: ${toError(thrown).message}`;
        return { kind: 'unavailable', reason, code: 'ASSERTION_TOO_COSTLY' };
      }
    },
    MESSAGE_COUNT: () => ({ kind: 'value', value: received(messages).length }),
    CLOSE_CODE: () => ({ kind: 'value', value: close?.code ?? null }),
    CLOSE_REASON: () => ({ kind: 'text', text: close?.reason ?? '' }),
    CONNECTION: () => tcpConnectionSource(result),
  };
}

/** @throws JsonTooLarge */
function jsonOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return text;
    throw thrown;
  }
}
