import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import { ProbeError } from '../../connection/errors.ts';
import type { ResponseHeaders } from '../answer-head.ts';
import type { Call, CallHooks, CallListener } from '../call.ts';
import { http2Headers, type RequestMessage } from '../request-message.ts';
import { observeSending } from '../sending.ts';
import { type Http2Wire, startHttp2 } from './session.ts';

/** One HTTP/2 request and its response on a connection of its own. */
export class Http2Call implements Call {
  readonly #listener: CallListener;
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  /** True once the peer has ended the response properly, not just closed the stream. */
  #isWhole = false;
  #goawayCode: number = constants.NGHTTP2_NO_ERROR;

  /** @throws ProbeError `request-invalid` if HTTP/2 cannot express the message. */
  constructor(
    socket: Socket,
    message: RequestMessage,
    { listener, sending, work, wire }: CallHooks & { readonly wire: Http2Wire },
  ) {
    this.#listener = listener;
    observeSending(socket, sending, () => undefined);
    this.#session = startHttp2(socket, `https://${message.authority}`, wire);
    this.#session.on('error', (error) => this.#fail(error));
    this.#session.on('goaway', (code: number) => {
      this.#goawayCode = code;
    });
    try {
      this.#stream = this.#session.request(http2Headers(message), { endStream: message.body === undefined });
    } catch (thrown) {
      this.#session.destroy();
      throw new ProbeError('request-invalid', 'firstByte', toError(thrown).message);
    }
    this.#listen(this.#stream, work);
    if (message.body) this.#stream.end(message.body);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  destroy(): void {
    this.#session.destroy();
  }

  #listen(stream: ClientHttp2Stream, work: CallHooks['work']): void {
    this.#recordWholeness(stream);
    stream.on('headers', () => this.#listener.onStart());
    stream.once('response', (headers) => {
      this.#listener.onStart();
      this.#listener.onHead({
        status: headers[':status'] ?? 0,
        statusText: '',
        headers: plainHeaders(headers),
        httpVersion: '2',
      });
      // Attached late, so that data that arrived with the head is not read before it.
      stream.on('data', (bytes: Buffer) => work(() => this.#listener.onBody(bytes)));
    });
    stream.once('end', () => {
      if (this.#isWhole) this.#listener.onEnd();
    });
    stream.once('error', (error) => this.#fail(error));
    stream.once('close', () => {
      if (!this.#isWhole) this.#breakOff(stream.rstCode ?? constants.NGHTTP2_NO_ERROR);
    });
  }

  /**
   * Node ends a response when the peer ends it, and also when the peer closes the stream without an error or with
   * CANCEL in the middle of a body. Both end the reading, but only the latter closes the stream first.
   */
  #recordWholeness(stream: ClientHttp2Stream): void {
    const push = stream.push;
    const observed = (chunk: unknown, encoding?: BufferEncoding) => {
      if (chunk === null && !stream.closed) this.#isWhole = true;
      return push.call(stream, chunk, encoding);
    };
    // Not assigned: see sending.ts.
    Object.defineProperty(stream, 'push', { value: observed, writable: true, configurable: true });
  }

  /** Errors after the response do not change it. */
  #fail(error: Error): void {
    if (this.#isWhole) return;
    const code = errorCodeOf(error);
    if (code === 'ERR_HTTP2_STREAM_ERROR') this.#breakOff(this.#stream.rstCode ?? 0);
    else if (code === 'ERR_HTTP2_SESSION_ERROR' && this.#goawayCode !== 0) this.#breakOff(this.#goawayCode);
    else if (code?.startsWith('ERR_HTTP2_')) this.#listener.onBroken('response-malformed', error.message);
    else this.#listener.onFailure(error);
  }

  #breakOff(code: number): void {
    const name = errorNames[code] ?? String(code);
    if (brokenRules.has(code)) {
      this.#listener.onBroken('response-malformed', `the response violates HTTP/2: ${name}`);
    } else {
      this.#listener.onBroken('connection-reset', `the peer reset the stream with ${name}`);
    }
  }
}

/** RFC 9113 section 7, by number. */
const errorNames = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
];

/** With these codes, either end reports a protocol violation by the other. */
const brokenRules: ReadonlySet<number> = new Set([
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_FRAME_SIZE_ERROR,
  constants.NGHTTP2_FLOW_CONTROL_ERROR,
  constants.NGHTTP2_COMPRESSION_ERROR,
  constants.NGHTTP2_ENHANCE_YOUR_CALM,
]);

function plainHeaders(headers: IncomingHttpHeaders): ResponseHeaders {
  const plain: [string, string | readonly string[]][] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(':') && value !== undefined) plain.push([name, value]);
  }
  return Object.fromEntries(plain);
}
