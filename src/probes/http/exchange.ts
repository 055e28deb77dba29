import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import type { CertificateFacts } from '../connection/certificate.ts';
import { Connection } from '../connection/connection.ts';
import { classifyError, ProbeError, type ProbeErrorKind, type ProbePhase } from '../connection/errors.ts';
import type { ConnectionMeans, ConnectionTarget } from '../connection/target.ts';
import type { StampClock } from '../sys/kernel-clock.ts';
import { BodyCollector, type CollectedBody } from './body.ts';
import type { HopTimes } from './phases.ts';
import { observeSending } from './sending.ts';

/** One request on one fresh connection. */
export interface ExchangeRequest {
  readonly target: ConnectionTarget;
  readonly origin: string;
  /** The request target: a path, or a whole URL for a proxy that forwards plain HTTP. */
  readonly path: string;
  readonly method: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string | Buffer | undefined;
  readonly maxBodyBytes: number;
  /** Whether the body of a response with this status and headers is wanted. */
  isBodyWanted(status: number, headers: ResponseHeaders): boolean;
}

/** Names in lower case; repeated headers keep their values apart. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: ResponseHeaders;
  readonly httpVersion: '1.0' | '1.1' | '2';
}

/** What came of an exchange. With an error, `head` and `body` are what had arrived by then. */
export interface ExchangeResult {
  readonly head: ResponseHead | undefined;
  readonly body: CollectedBody;
  readonly error: ProbeError | undefined;
  /** Whether the error may be the proxy's as well as that of the target behind it. */
  readonly isProxyInDoubt: boolean;
  readonly times: HopTimes;
  readonly clock: StampClock;
  readonly lagMs: number;
  /** For how long the connection had been silent when the exchange failed. */
  readonly silentMs: number;
  /** What the target showed of itself in TLS; absent without. */
  readonly certificate: CertificateFacts | undefined;
  readonly address: string | null;
}

/** Sum of names and values of all headers of a response, in bytes. */
const maxHeaderBytes = 64 * 1024;

/** What undici takes for the first request of an HTTP/2 connection. */
const usualHttp2RequestMs = 0.6;

/** What a proxy that forwards plain HTTP may have caused itself, or handed on from the target. */
const relayedKinds: ReadonlySet<ProbeErrorKind> = new Set([
  'response-timeout',
  'connection-reset',
  'response-malformed',
]);

const noBody: CollectedBody = { bytes: Buffer.alloc(0), isTruncated: false };

/**
 * An exchange goes CONNECTING -> WAITING for the head -> DOWNLOADING -> DECODING -> done, and from each state
 * straight to done when something fails or `stop` is called. Done is final: it happens once, releases the
 * connection, and everything that still comes in from sockets, undici or zlib afterwards is ignored.
 */
export class Exchange {
  readonly #request: ExchangeRequest;
  readonly #connection: Connection;
  /** When the connection was open, then when the request had left. */
  #sentMs = 0;
  /** When the first byte of the response arrived. */
  #firstByteMs = 0;
  /** When the last byte of the body arrived. */
  #endMs = 0;
  /** Bytes of the connection that are known to come before the response. */
  #bytesBefore = 0;
  #client: Client | undefined;
  #head: ResponseHead | undefined;
  #body: BodyCollector | undefined;
  #httpVersion: ResponseHead['httpVersion'] = '1.1';
  #settle:
    | { readonly resolve: (result: ExchangeResult) => void; readonly reject: (error: Error) => void }
    | undefined;

  constructor(request: ExchangeRequest) {
    this.#request = request;
    this.#connection = new Connection(request.target);
  }

  /** The step under way. */
  get phase(): ProbePhase {
    if (!this.#connection.isOpen) return this.#connection.phase;
    return this.#head ? 'download' : 'firstByte';
  }

  /** The peer of the step under way, for messages. */
  get where(): string {
    return this.#connection.where;
  }

  /**
   * Sends the request and reads the response. Whatever the peer does is a result; the promise rejects only
   * for faults of ours.
   */
  run(means: ConnectionMeans): Promise<ExchangeResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ExchangeResult>();
    this.#settle = { resolve, reject };
    const { origin, path, method, headers, body } = this.#request;
    let hand: ((error: null, socket: Socket) => void) | undefined;
    let connected: Socket | undefined;
    // The name is looked up first, so that making the client costs no time on the way.
    this.#connection.open(means, (error, socket) => {
      if (!socket) return this.#finish(error ?? new Error('connected without a socket'));
      this.#observe(socket);
      if (hand) hand(null, socket);
      else connected = socket;
    });
    this.#client = new Client(origin, {
      connect: (_options, callback) => {
        // A peer that goes away before it takes the request makes the client dial again; an attempt has one
        // connection.
        if (hand) {
          const message = `${this.where} closed the connection before it took the request`;
          callback(new ProbeError('connection-reset', 'firstByte', message), null);
          return;
        }
        hand = callback as (error: null, socket: Socket) => void;
        if (connected) hand(null, connected);
      },
      allowH2: true,
      h2Options: { pingInterval: 0 },
      pipelining: 1,
      maxHeaderSize: maxHeaderBytes,
      // The caller's deadline is the only clock.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#client.dispatch(
      { path, method: method as Dispatcher.HttpMethod, headers: headers as string[], body: body ?? null },
      {
        onRequestStart: () => undefined,
        // Again for the response that follows an informational one: the last one counts.
        onResponseStarted: () => this.#noteFirstByte(),
        onResponseStart: (controller, status, responseHeaders, statusText) => {
          if (status >= 200)
            this.#start(controller, { status, statusText: statusText ?? '', responseHeaders });
        },
        onResponseData: (controller, chunk) => {
          const isReady = this.#body?.write(chunk, () => controller.resume()) ?? true;
          if (!isReady) controller.pause();
        },
        onResponseEnd: () => {
          this.#endMs = this.#lastByteMs();
          this.#body?.end((error) => this.#finish(error));
        },
        onResponseError: (_controller, error) => this.#finish(error),
      },
    );
    return promise;
  }

  /** Ends the exchange with that error, unless it is done. */
  stop(error: ProbeError): void {
    this.#finish(error);
  }

  #noteFirstByte(): void {
    const { receivedBytes } = this.#connection;
    this.#firstByteMs = this.#connection.arrivalAfter(this.#bytesBefore, receivedBytes, performance.now());
    this.#bytesBefore = receivedBytes;
  }

  #lastByteMs(): number {
    return this.#connection.arrivalOf(this.#connection.receivedBytes, performance.now());
  }

  /** The parser does not tell the version of a response, but the first bytes read from the socket do. */
  #observe(socket: Socket): void {
    this.#sentMs = performance.now();
    this.#bytesBefore = this.#connection.receivedBytes;
    observeSending(socket, {
      isSending: () => this.#connection.isSending,
      onSent: (beforeMs) => {
        if (this.#firstByteMs > 0) return;
        this.#sentMs = beforeMs === undefined ? performance.now() : this.#connection.sentSince(beforeMs);
      },
      onSentSomeTimeAgo: () => {
        if (this.#firstByteMs > 0) return;
        const nowMs = performance.now();
        const sentMs = this.#connection.sentAt(nowMs);
        this.#sentMs =
          sentMs < nowMs
            ? Math.max(this.#sentMs, sentMs)
            : this.#connection.sentSince(this.#sentMs, usualHttp2RequestMs);
      },
      onTicket: () => {
        if (this.#firstByteMs === 0) this.#bytesBefore = this.#connection.receivedBytes;
      },
    });
    if ((socket as { alpnProtocol?: unknown }).alpnProtocol === 'h2') {
      this.#httpVersion = '2';
      return;
    }
    const read = socket.read;
    let start = '';
    socket.read = (sizeBytes?: number) => {
      const chunk: unknown = read.call(socket, sizeBytes);
      if (Buffer.isBuffer(chunk)) {
        start += chunk.toString('latin1', 0, 8 - start.length);
        if (start.length === 8) {
          socket.read = read;
          if (start === 'HTTP/1.0') this.#httpVersion = '1.0';
        }
      }
      return chunk;
    };
  }

  #start(
    controller: Dispatcher.DispatchController,
    head: { readonly status: number; readonly statusText: string; readonly responseHeaders: object },
  ): void {
    if (this.#firstByteMs === 0) this.#noteFirstByte();
    const headers = head.responseHeaders as ResponseHeaders;
    this.#head = {
      status: head.status,
      statusText: head.statusText,
      headers,
      httpVersion: this.#httpVersion,
    };
    if (!this.#request.isBodyWanted(head.status, headers)) {
      this.#finish(null);
      return;
    }
    const encoding = headers['content-encoding'];
    this.#body = new BodyCollector({
      limitBytes: this.#request.maxBodyBytes,
      contentEncoding: typeof encoding === 'object' ? encoding.join(',') : encoding,
      peer: this.where,
      onStop: () => {
        controller.pause();
        this.#finish(this.#body?.failure ?? null);
      },
    });
  }

  #finish(thrown: Error | null): void {
    const settle = this.#settle;
    if (!settle) return;
    this.#settle = undefined;
    const eventMs = performance.now();
    if (this.#endMs === 0) this.#endMs = thrown || !this.#head ? eventMs : this.#lastByteMs();
    const error = thrown ? classifyError(thrown, this.phase, this.where) : undefined;
    const silentMs = error ? this.#connection.silentMs() : 0;
    const body = this.#body?.result() ?? noBody;
    this.#body?.destroy();
    if (this.#httpVersion === '2') void this.#client?.destroy();
    this.#connection.destroy();
    if (error && !(error instanceof ProbeError)) {
      settle.reject(error);
      return;
    }
    settle.resolve({
      head: this.#head,
      body: error ? { ...body, isTruncated: true } : body,
      error,
      isProxyInDoubt: error !== undefined && this.#isProxyInDoubt(error),
      times: this.#times(eventMs),
      clock: this.#connection.clock,
      lagMs: this.#connection.lagMs,
      silentMs,
      certificate: this.#connection.certificate,
      address: this.#connection.address,
    });
  }

  /** Either of them may have been silent or have broken off, while nobody has said anything in HTTP. */
  #isProxyInDoubt({ kind }: ProbeError): boolean {
    const { proxy, isSecure } = this.#request.target;
    if (!proxy) return false;
    if (!this.#connection.isOpen) return this.#connection.isTunnelPending && kind === 'proxy-failed';
    return !isSecure && relayedKinds.has(kind);
  }

  #times(eventMs: number): HopTimes {
    const { times: connection } = this.#connection;
    if (this.#sentMs === 0) return { connection, waitMs: 0, downloadMs: 0 };
    if (this.#firstByteMs === 0) return { connection, waitMs: eventMs - this.#sentMs, downloadMs: 0 };
    return {
      connection,
      // A server that answers before it has heard everything lets nobody wait.
      waitMs: Math.max(0, this.#firstByteMs - this.#sentMs),
      downloadMs: Math.max(0, this.#endMs - Math.max(this.#sentMs, this.#firstByteMs)),
    };
  }
}
