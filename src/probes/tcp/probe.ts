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
  /** Through which the connection is made, if there is one. */
  readonly proxy?: ForwardProxy | undefined;
  /** Whether TLS is spoken; the certificate has to be for the server's name, or the host's, unless it is not checked. */
  readonly tls:
    | { readonly isCertificateChecked: boolean; readonly serverName?: string | undefined }
    | undefined;
  /** What is sent once the connection is ready; an empty text sends nothing. */
  readonly data: string;
  /** False, when nothing is sent either, closes the connection as soon as it is ready. */
  readonly isAnswerWanted: boolean;
  /** Most of the answer that is read, in bytes. */
  readonly maxAnswerBytes: number;
  /** A pause of this length, in milliseconds, ends an answer that has begun, if `isEnough` has nothing against it. */
  readonly idleGapMs: number;
  /** Whether the answer so far is all that is waited for; any answer when absent. */
  readonly isEnough?: ((answer: Buffer) => boolean) | undefined;
}

export interface TcpProbeControls extends ConnectionOptions, InterruptionSources {}

/**
 * What a probe found. Either `error` is there or `phases` are; with an error, `answer` is what had arrived by
 * then.
 */
export interface TcpProbeResult {
  readonly error: ProbeError | undefined;
  /** True when the TCP connection to the target was made, whatever happened afterwards. */
  readonly isConnected: boolean;
  readonly answer: Buffer;
  /** True when the peer had more to say: the size limit or the deadline was reached. */
  readonly isTruncated: boolean;
  /** Absent when the probe ended with an error. */
  readonly phases: TcpPhases | undefined;
  /** Sum of the phases until the end or the error, in milliseconds. */
  readonly elapsedMs: number;
  readonly measurement: ProbeMeasurement;
  /** What the peer showed of itself in TLS; absent without. */
  readonly certificate: CertificateFacts | undefined;
  /** Null when there was none, or a proxy in between. */
  readonly address: string | null;
}

/**
 * Connects once, sends what there is to send and reads what comes back. Never throws for what a peer does; a
 * rejection is a fault of ours.
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
 * A conversation goes CONNECTING (name, TCP, TLS; see Connection) -> READING -> done, or straight to done
 * from either when something fails. READING ends without an error when the peer closes its side, when nothing
 * comes for the idle gap after something came and that is enough, when the size limit is reached, or when the deadline passes
 * after something came; a peer that says nothing until the deadline is an error. Done is final: it happens
 * once, and releases the socket, the timers and the signal.
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
  /** The last event that brought data, and how much had been received by then. */
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
    // A signal that had aborted before has ended everything by now.
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
    // The end of a connection that neither ended nor failed in a way that was heard of.
    socket.on('close', () => this.#finish({ endMs: performance.now() }));
  }

  /** Nothing has come for a while; what comes starts the timer again. */
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

  /** @returns true when there was more than the limit. */
  #collect(chunk: Buffer): boolean {
    const roomBytes = this.#request.maxAnswerBytes - this.#sizeBytes;
    const neededBytes = this.#sizeBytes + Math.min(chunk.length, roomBytes);
    if (neededBytes > this.#answer.length) {
      // One buffer that grows, because a peer that sends single bytes must not cost a buffer for each.
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
      // A peer that has said something, and then nothing more that was waited for, was not cut short.
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
    // The pause that ends an answer belongs to nobody.
    const lastEventMs = error ? eventMs : (this.#lastData?.eventMs ?? eventMs);
    settle.resolve({
      error,
      // A connect can be reset only once the peer has accepted it; one that says no is `connection-refused`.
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
 * Milliseconds each step took; all but `total` add up to it. See docs/reference/checks.md for the exact
 * borders.
 */
export interface TcpPhases {
  dns: number;
  /** To the target; through a proxy, its answer included. */
  connection: number;
  /** 0 without TLS. */
  tls: number;
  /**
   * From what was sent, or the connection being ready, to the last byte that was read or to the peer's end.
   */
  data: number;
  total: number;
}

/** Phases of a conversation, each without what this process needed before it. */
export function tcpPhases({ dnsMs, tcpMs, proxyMs, tlsMs }: ConnectionTimes, dataMs: number): TcpPhases {
  const connection = tcpMs + proxyMs;
  return { dns: dnsMs, connection, tls: tlsMs, data: dataMs, total: dnsMs + connection + tlsMs + dataMs };
}
