import type { Socket } from 'node:net';
import { toError } from '@picket/lib/errors.ts';
import type { WantedFamily } from '../address.ts';
import type { CertificateFacts } from '../connection/certificate.ts';
import { Connection } from '../connection/connection.ts';
import { classifyError, ProbeError } from '../connection/errors.ts';
import type { ForwardProxy } from '../connection/forward-proxy.ts';
import {
  type Interruption,
  type InterruptionSources,
  Interruptions,
  interruptionError,
} from '../connection/interruption.ts';
import { settledError } from '../connection/proxy-question.ts';
import type { ConnectionOptions, ConnectionTimes } from '../connection/target.ts';
import type { ProbeMeasurement } from '../kernel-thread/socket-watch.ts';

/** A connection to measure. */
export interface TcpProbeRequest {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly family: WantedFamily;
  /** Proxy for the connection, if any. */
  readonly proxy?: ForwardProxy | undefined;
  /** Parameters of TLS, if it is used; the certificate must match `serverName`, or else the host's name. */
  readonly tls:
    | { readonly isCertificateChecked: boolean; readonly serverName?: string | undefined }
    | undefined;
  /** Sent once the connection is ready; an empty text sends nothing. */
  readonly data: string;
  /** False closes the connection as soon as it is ready, if there is nothing to send. */
  readonly isAnswerWanted: boolean;
  /** Limit for the bytes read from the response. */
  readonly maxAnswerBytes: number;
  /** A pause of this length, in milliseconds, ends a response that has begun, unless `isEnough` rejects it. */
  readonly idleGapMs: number;
  /** Whether the response so far is complete; defaults to any response. */
  readonly isEnough?: ((answer: Buffer) => boolean) | undefined;
}

export interface TcpProbeControls extends ConnectionOptions, InterruptionSources {}

/** Result of a probe. Either `error` or `phases` is set; with an error, `answer` holds the data received so far. */
export interface TcpProbeResult {
  readonly error: ProbeError | undefined;
  /** True if the TCP connection to the target was established, whatever happened afterwards. */
  readonly isConnected: boolean;
  readonly answer: Buffer;
  /** True if the peer had more data: the size limit or the deadline was reached. */
  readonly isTruncated: boolean;
  /** Absent if the probe ended with an error. */
  readonly phases: TcpPhases | undefined;
  /** Sum of the phases until the end or the error, in milliseconds. */
  readonly elapsedMs: number;
  readonly measurement: ProbeMeasurement;
  /** Certificate and TLS parameters of the peer; absent without TLS. */
  readonly certificate: CertificateFacts | undefined;
  /** Null without a connection, or with a proxy. */
  readonly address: string | null;
}

/**
 * Connects once, sends the data, if any, and reads the response. Never throws because of a peer; a rejection is a bug
 * of ours.
 */
export async function probeTcp(
  request: TcpProbeRequest,
  controls: TcpProbeControls,
): Promise<TcpProbeResult> {
  const conversation = new Conversation(request, controls);
  const result = await conversation.run();
  return {
    ...result,
    error: await settledError(result.error, conversation.connection, request.proxy, controls),
  };
}

/**
 * States of a conversation: CONNECTING (name, TCP, TLS; see Connection) -> READING -> done, or straight to done from
 * either on failure. READING ends without an error when the peer closes its side, when an idle gap follows a sufficient
 * response, when the size limit is reached, or when the deadline passes after some data; a peer that is silent until
 * the deadline is an error. Done is final: it happens once, and releases the socket, the timers and the signal.
 */
class Conversation {
  readonly #request: TcpProbeRequest;
  readonly #controls: TcpProbeControls;
  readonly connection: Connection;
  readonly #startMs = performance.now();
  #answer: Buffer = Buffer.alloc(0);
  #sizeBytes = 0;
  /** When the conversation could begin: the request has left, or the connection is ready. */
  #dataStartMs = 0;
  /** The last event with data, and the total received by then. */
  #lastData: { readonly eventMs: number; readonly receivedBytes: number } | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #interruptions: Interruptions | undefined;
  #settle:
    | { readonly resolve: (result: TcpProbeResult) => void; readonly reject: (error: Error) => void }
    | undefined;

  constructor(request: TcpProbeRequest, controls: TcpProbeControls) {
    const { hostname, port, family, tls, proxy } = request;
    this.#request = request;
    this.#controls = controls;
    this.connection = new Connection({
      hostname,
      port,
      family,
      isSecure: tls !== undefined,
      serverName: tls?.serverName,
      isCertificateChecked: tls?.isCertificateChecked ?? true,
      clientIdentity: undefined,
      proxy,
      alpnProtocols: [],
    });
  }

  run(): Promise<TcpProbeResult> {
    const { promise, resolve, reject } = Promise.withResolvers<TcpProbeResult>();
    this.#settle = { resolve, reject };
    this.#interruptions = new Interruptions(this.#controls, (interruption) => this.#interrupt(interruption));
    // If the signal was already aborted, the conversation has ended by now.
    if (!this.#settle) return promise;
    this.connection.open(this.#controls, (error, socket) => {
      if (socket) this.#converse(socket);
      else this.#finish({ error: error ?? new Error('connected without a socket') });
    });
    return promise;
  }

  #converse(socket: Socket): void {
    const { data, isAnswerWanted, idleGapMs } = this.#request;
    socket.on('error', (error) => this.#finish({ error }));
    if (data !== '') {
      this.connection.beforeSending();
      const beforeMs = performance.now();
      socket.write(data);
      this.#dataStartMs = this.connection.sentSince(beforeMs);
    } else if (isAnswerWanted) {
      this.#dataStartMs = this.connection.readyMs;
    } else {
      this.#finish({});
      return;
    }
    socket.on('data', (chunk: Buffer) => {
      const eventMs = performance.now();
      this.#lastData = { eventMs, receivedBytes: this.connection.receivedBytes };
      if (this.#collect(chunk)) this.#finish({ endMs: this.#lastByteMs(), isTruncated: true });
      else if (this.#idleTimer) this.#idleTimer.refresh();
      else this.#idleTimer = setTimeout(() => this.#pause(), idleGapMs);
    });
    socket.on('end', () => this.#finish({ endMs: this.#peersEndMs() }));
    // The connection closed without an end or error event.
    socket.on('close', () => this.#finish({ endMs: performance.now() }));
  }

  /** The idle gap has passed; new data restarts the timer. */
  #pause(): void {
    const { isEnough } = this.#request;
    try {
      const isOver = isEnough?.(this.#answer.subarray(0, this.#sizeBytes)) ?? true;
      if (isOver) this.#finish({ endMs: this.#lastByteMs() });
    } catch (thrown) {
      this.#finish({ error: toError(thrown) });
    }
  }

  #lastByteMs(): number {
    const { eventMs, receivedBytes } = this.#lastData ?? { eventMs: performance.now(), receivedBytes: 0 };
    return this.connection.arrivalOf(receivedBytes, eventMs);
  }

  /** The kernel counts the end of the stream as one more byte. */
  #peersEndMs(): number {
    const { receivedBytes } = this.connection;
    return this.connection.arrivalAfter(receivedBytes, receivedBytes + 1, performance.now());
  }

  /** @returns true if the limit is exceeded. */
  #collect(chunk: Buffer): boolean {
    const roomBytes = this.#request.maxAnswerBytes - this.#sizeBytes;
    const neededBytes = this.#sizeBytes + Math.min(chunk.length, roomBytes);
    if (neededBytes > this.#answer.length) {
      // A single growing buffer: a peer that sends single bytes must not cost a buffer for each.
      const grown = Buffer.alloc(Math.max(neededBytes, 2 * this.#answer.length));
      this.#answer.copy(grown, 0, 0, this.#sizeBytes);
      this.#answer = grown;
    }
    chunk.copy(this.#answer, this.#sizeBytes, 0, roomBytes);
    this.#sizeBytes = neededBytes;
    return chunk.length > roomBytes;
  }

  #interrupt(interruption: Interruption): void {
    if (interruption === 'deadline' && this.#sizeBytes > 0) {
      // A peer that paused after its last data was not cut short, even if more was expected.
      const isPaused = performance.now() - (this.#lastData?.eventMs ?? 0) >= this.#request.idleGapMs;
      this.#finish(
        isPaused ? { endMs: this.#lastByteMs() } : { endMs: performance.now(), isTruncated: true },
      );
      return;
    }
    const { where, isOpen, phase } = this.connection;
    const { timeoutMs } = this.#controls;
    const error = interruptionError(interruption, { phase: isOpen ? 'data' : phase, where, timeoutMs });
    this.#finish({ error });
  }

  #finish(end: { readonly error?: Error; readonly endMs?: number; readonly isTruncated?: boolean }): void {
    const settle = this.#settle;
    if (!settle) return;
    this.#settle = undefined;
    clearTimeout(this.#idleTimer);
    this.#interruptions?.release();
    const eventMs = performance.now();
    const connection = this.connection;
    const { proxy } = this.#request;
    const phase = connection.isOpen ? 'data' : connection.phase;
    const error = end.error ? classifyError(end.error, phase, connection.where, connection.peer) : undefined;
    const silentMs = error ? connection.silentMs() : 0;
    connection.destroy();
    if (error && !(error instanceof ProbeError)) {
      settle.reject(error);
      return;
    }
    const dataMs = this.#dataStartMs > 0 ? Math.max(0, (end.endMs ?? eventMs) - this.#dataStartMs) : 0;
    const phases = tcpPhases(connection.times, dataMs);
    // The pause that ends a response counts neither as the peer's time nor as ours.
    const lastEventMs = error ? eventMs : (this.#lastData?.eventMs ?? eventMs);
    settle.resolve({
      error,
      // A connection can be reset only after the peer has accepted it; a refused one is `connection-refused`.
      isConnected: connection.isConnected || error?.kind === 'connection-reset',
      answer: this.#answer.subarray(0, this.#sizeBytes),
      isTruncated: end.isTruncated ?? (error !== undefined && this.#sizeBytes > 0),
      phases: error ? undefined : phases,
      elapsedMs: phases.total,
      measurement: {
        clock: connection.clock,
        overheadMs: Math.max(0, lastEventMs - this.#startMs - phases.total),
        lagMs: connection.lagMs,
        doubtMs: connection.doubtMs,
        ...(error && { waitedMs: Math.max(silentMs, connection.clock === 'kernel' ? phases.total : 0) }),
      },
      certificate: connection.certificate,
      address: proxy ? null : connection.address,
    });
  }
}

/**
 * Duration of each step in milliseconds; all but `total` add up to it. docs/reference/checks.md defines the exact
 * boundaries.
 */
export interface TcpPhases {
  dns: number;
  /** TCP connection to the target; with a proxy, including the proxy's response. */
  connection: number;
  /** 0 without TLS. */
  tls: number;
  /** From sending the data, or from the connection being ready, to the last byte read or the peer's end. */
  data: number;
  total: number;
}

/** Phases of a conversation, without the processing time of this process. */
export function tcpPhases({ dnsMs, tcpMs, proxyMs, tlsMs }: ConnectionTimes, dataMs: number): TcpPhases {
  const connection = tcpMs + proxyMs;
  return { dns: dnsMs, connection, tls: tlsMs, data: dataMs, total: dnsMs + connection + tlsMs + dataMs };
}
