import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { errorCodeOf } from '@picket/lib/errors.ts';
import type { ProbeErrorKind } from '../connection/errors.ts';
import type { CallTimes } from './call-times.ts';
import { framed, type MessageLimits, MessageReader, UnreadableMessage } from './messages.ts';
import { callHeaders, type MetadataEntry, receivedMetadata } from './metadata.ts';
import { type GrpcStatus, ownStatus, statusOfHttp, statusOfReset, statusOfTrailers } from './status.ts';

/** A call of one method, with one request message. */
export interface CallRequest {
  readonly authority: string;
  readonly isSecure: boolean;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly metadata: readonly MetadataEntry[];
  readonly message: Uint8Array;
  /** True if the method returns a stream of messages; else exactly one. */
  readonly isServerStream: boolean;
  /** Number of messages of a stream to wait for; null for all. */
  readonly wantedMessages: number | null;
  readonly timeoutMs: number;
}

export interface CallEnd {
  readonly status: GrpcStatus;
  /** Complete messages, decompressed. */
  readonly messages: readonly Buffer[];
  /** True if the client left the stream before its end, as requested. */
  readonly isLeft: boolean;
  readonly metadata: readonly MetadataEntry[];
  readonly trailers: readonly MetadataEntry[];
  /** A protocol violation, or the failure that ended the response. */
  readonly fault: CallFault | undefined;
}

export interface CallFault {
  readonly kind: Extract<ProbeErrorKind, 'connection-reset' | 'response-malformed' | 'body-undecodable'>;
  readonly message: string;
}

interface End {
  readonly status: GrpcStatus;
  readonly fault?: CallFault | undefined;
  readonly isLeft?: boolean;
}

export interface CallOptions {
  readonly limits: MessageLimits;
  readonly times: CallTimes;
  /** Runs a step of reading, whose cost the peer causes. */
  work(step: () => void): void;
  /** Called once the result of the call is known; later events on the connection do not change it. */
  onSettled?(): void;
}

/**
 * Calls a method on a session that is ready. Resolves with the peer's result; if the session fails, it may never
 * resolve, and the caller no longer waits for it.
 *
 * @throws ProbeError `request-invalid` for a call that cannot be sent.
 */
export async function callMethod(
  session: ClientHttp2Session,
  request: CallRequest,
  means: CallOptions,
): Promise<CallEnd> {
  const headers = callHeaders(request);
  means.times.begin();
  const stream = begun(session, headers);
  if (!stream) return leftAlone;
  const answer = new Answer(stream, { ...request, session }, means);
  stream.end(framed(request.message));
  const end = await answer.ended;
  if (!stream.destroyed) stream.close(constants.NGHTTP2_CANCEL);
  return await answer.result(end);
}

/** Opens the stream of a call; undefined if the server no longer accepts streams. */
function begun(session: ClientHttp2Session, headers: OutgoingHttpHeaders): ClientHttp2Stream | undefined {
  try {
    return session.request(headers, { endStream: false });
  } catch (thrown) {
    if (sessionEnds.has(errorCodeOf(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

const sessionEnds: ReadonlySet<string> = new Set(['ERR_HTTP2_GOAWAY_SESSION', 'ERR_HTTP2_INVALID_SESSION']);
/** Node reports no more detail about such a session. */
const brokenSession = 'the server violates HTTP/2';
const farewell = 'the server accepts no calls on this connection (GOAWAY)';
const leftAlone: CallEnd = {
  status: ownStatus('UNAVAILABLE', farewell),
  messages: [],
  isLeft: false,
  metadata: [],
  trailers: [],
  fault: { kind: 'connection-reset', message: farewell },
};

/** A response: head, messages, trailers; or trailers alone, sent as its head. The first event that ends it counts. */
class Answer {
  readonly #request: Pick<CallRequest, 'isServerStream' | 'wantedMessages'> & {
    readonly session: ClientHttp2Session;
  };
  readonly #times: CallTimes;
  readonly #reader: MessageReader;
  readonly #ended = Promise.withResolvers<End>();
  readonly #onSettled: (() => void) | undefined;
  #head: IncomingHttpHeaders = {};
  #trailers: IncomingHttpHeaders | undefined;
  #isEnded = false;

  constructor(
    stream: ClientHttp2Stream,
    request: CallRequest & { readonly session: ClientHttp2Session },
    { limits, times, work, onSettled }: CallOptions,
  ) {
    this.#onSettled = onSettled;
    this.#request = request;
    this.#times = times;
    this.#reader = new MessageReader(limits);
    stream.once('response', (headers, flags) => {
      times.recordFirstByte();
      this.#head = headers;
      if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.#recordTrailers(headers);
      else this.#judgeHead();
      // Attached late, so that data that arrived with the head is not read before it.
      stream.on('data', (bytes: Buffer) => work(() => this.#read(bytes)));
    });
    stream.once('trailers', (trailers) => this.#recordTrailers(trailers));
    stream.once('end', () => {
      if (this.#trailers) this.#finish();
    });
    stream.on('error', (error) => this.#recordError(error));
    // Whether the connection broke is known only after this turn of the event loop.
    stream.once('close', () => setImmediate(() => this.#recordClose(stream.rstCode ?? 0)));
  }

  #end(end: End): void {
    this.#isEnded = true;
    this.#onSettled?.();
    this.#ended.resolve(end);
  }

  get ended(): Promise<End> {
    return this.#ended.promise;
  }

  async result({ status, fault, isLeft = false }: End): Promise<CallEnd> {
    const trailers = this.#trailers === this.#head ? {} : (this.#trailers ?? {});
    const base = { isLeft, metadata: receivedMetadata(this.#head), trailers: receivedMetadata(trailers) };
    const encoding = this.#head['grpc-encoding'];
    try {
      const messages = await this.#reader.messages(typeof encoding === 'string' ? encoding : '');
      return { ...base, ...this.#checked({ status, fault }, messages.length), messages };
    } catch (thrown) {
      if (!(thrown instanceof UnreadableMessage)) throw thrown;
      // The first failure counts.
      const unreadable = fault || status.code !== 0 ? { status, fault } : unreadableEnd(thrown);
      return { ...base, status: unreadable.status, fault: unreadable.fault, messages: [] };
    }
  }

  /** A unary request has exactly one response message. */
  #checked({ status, fault }: End, count: number): Pick<CallEnd, 'status' | 'fault'> {
    if (status.code !== 0 || fault || this.#request.isServerStream || count === 1) return { status, fault };
    const message = `${oneIsWanted}, but the server sent no message`;
    return { status: ownStatus('UNIMPLEMENTED', message), fault: { kind: 'response-malformed', message } };
  }

  #judgeHead(): void {
    const type = this.#head['content-type'] ?? '';
    if (/^application\/grpc(?:$|[+;])/i.test(type)) return;
    if (this.#httpStatus !== 200) {
      this.#end({ status: statusOfHttp(this.#httpStatus) });
      return;
    }
    const shown = type === '' ? 'no content type' : `the content type ${JSON.stringify(type.slice(0, 80))}`;
    const message = `the response has ${shown}, which is not gRPC`;
    this.#end({
      status: ownStatus('UNKNOWN', message),
      fault: { kind: 'response-malformed', message },
    });
  }

  get #httpStatus(): number {
    return Number(this.#head[':status'] ?? 0);
  }

  #read(bytes: Buffer): void {
    if (this.#isEnded) return;
    try {
      this.#reader.write(bytes);
    } catch (thrown) {
      if (!(thrown instanceof UnreadableMessage)) throw thrown;
      this.#end(unreadableEnd(thrown));
      return;
    }
    const { isServerStream, wantedMessages } = this.#request;
    if (!isServerStream && this.#reader.count > 1) {
      this.#break(`${oneIsWanted}, but the server sent more`, 'UNIMPLEMENTED', 'response-malformed');
    }
    if (!isServerStream || wantedMessages === null || this.#reader.count < wantedMessages) return;
    this.#times.recordEnd();
    const message = `cancelled after ${this.#reader.count} messages`;
    this.#end({ status: ownStatus('OK', message), isLeft: true });
  }

  #recordTrailers(trailers: IncomingHttpHeaders): void {
    this.#trailers = trailers;
    this.#times.recordEnd();
    this.#onSettled?.();
    if (trailers === this.#head) this.#finish();
  }

  #finish(): void {
    const status = statusOfTrailers(this.#trailers ?? {});
    if (!status) {
      this.#finishWithoutStatus('UNKNOWN', 'the trailers of the response have no grpc-status');
    } else if (this.#reader.isInside && status.code === 0) {
      this.#break('the response ends in the middle of a message', 'INTERNAL', 'response-malformed');
    } else {
      this.#end({ status });
    }
  }

  #finishWithoutStatus(name: 'UNKNOWN' | 'INTERNAL', message: string): void {
    if (this.#httpStatus !== 200) this.#end({ status: statusOfHttp(this.#httpStatus) });
    else this.#break(message, name, 'response-malformed');
  }

  #recordError(error: Error): void {
    const code = errorCodeOf(error) ?? '';
    // These errors say less than the stream's reset code, and `close` follows.
    if (code === 'ERR_HTTP2_STREAM_ERROR' || code === 'ERR_HTTP2_SESSION_ERROR') return;
    if (sessionEnds.has(code)) this.#break(brokenSession, 'INTERNAL', 'response-malformed');
    else if (code.startsWith('ERR_HTTP2_')) this.#break(error.message, 'INTERNAL', 'response-malformed');
    else this.#break(error.message, 'UNAVAILABLE');
  }

  #recordClose(code: number): void {
    const { session } = this.#request;
    if (this.#trailers) this.#finish();
    else if (code === constants.NGHTTP2_NO_ERROR && !session.destroyed) {
      this.#finishWithoutStatus('INTERNAL', 'the response ends without trailers');
    } else if (
      session.destroyed &&
      (code === constants.NGHTTP2_CANCEL || code === constants.NGHTTP2_NO_ERROR)
    ) {
      this.#break('the peer closed the connection in the middle of the call', 'UNAVAILABLE');
    } else {
      const message = `the peer reset the stream with code ${code}`;
      this.#end({
        status: statusOfReset(code, message),
        fault: { kind: 'connection-reset', message },
      });
    }
  }

  #break(
    message: string,
    name: Parameters<typeof ownStatus>[0],
    kind: CallFault['kind'] = 'connection-reset',
  ): void {
    this.#end({ status: ownStatus(name, message), fault: { kind, message } });
  }
}

const oneIsWanted = 'the method returns one message';

/** Exceeding a limit is a status; unreadable data violates the protocol. */
function unreadableEnd({ status, message }: UnreadableMessage): Pick<CallEnd, 'status' | 'fault'> {
  const isTooMuch = status.code === ownStatus('RESOURCE_EXHAUSTED', '').code;
  return { status, fault: isTooMuch ? undefined : { kind: 'body-undecodable', message } };
}
