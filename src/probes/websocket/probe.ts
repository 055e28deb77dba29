import type { Socket } from 'node:net';
import { toError } from '@picket/lib/errors.ts';
import type { CertificateFacts } from '../connection/certificate.ts';
import { Connection } from '../connection/connection.ts';
import { classifyError, ProbeError, type ProbePhase } from '../connection/errors.ts';
import { type InterruptionSources, Interruptions, interruptionError } from '../connection/interruption.ts';
import { settledError } from '../connection/proxy-question.ts';
import type { ConnectionOptions, ConnectionTarget } from '../connection/target.ts';
import { MalformedAnswer, type ResponseHead } from '../http/answer-head.ts';
import { http1Bytes, type RequestMessage, requireSendable } from '../http/request-message.ts';
import { quickestAnswerMs } from '../kernel-thread/send-time.ts';
import type { ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import type { StepOutcome } from '../steps/steps.ts';
import { HandshakeAnswer } from './answer.ts';
import { Conversation } from './conversation.ts';
import { agreedSubprotocol, handshakeProblem, newKey, upgradeHeaders } from './handshake.ts';
import type { ConversationClose, ConversationStep, ExchangedMessage } from './steps.ts';

/** A conversation to run. */
export interface WebSocketProbeRequest {
  readonly target: Omit<ConnectionTarget, 'alpnProtocols' | 'isAlwaysTunnelled'>;
  /** The request; the headers of the upgrade are added. */
  readonly message: Pick<RequestMessage, 'authority' | 'path' | 'headers'>;
  readonly subprotocols: readonly string[];
  readonly steps: readonly ConversationStep[];
}

export interface WebSocketProbeControls extends ConnectionOptions, InterruptionSources {}

/** Duration of each step in milliseconds; all but `total` add up to it. */
export interface WebSocketPhases {
  dns: number;
  connect: number;
  /** Setting up the tunnel through a proxy. */
  proxy: number;
  tls: number;
  /** From sending the request to the end of the response's head. */
  handshake: number;
  /** Waiting time of the steps. */
  messages: number;
  total: number;
}

/** Result of a probe. With an error, the other fields hold the results up to then. */
export interface WebSocketProbeResult {
  readonly error: ProbeError | undefined;
  readonly head: ResponseHead | undefined;
  /** The response body of a server that did not switch protocols. */
  readonly refusal: Buffer;
  /** True if the handshake succeeded. */
  readonly isOpened: boolean;
  readonly subprotocol: string | null;
  readonly messages: readonly ExchangedMessage[];
  /** Of the steps that were begun. */
  readonly outcomes: readonly StepOutcome[];
  readonly pingCount: number;
  readonly close: ConversationClose | undefined;
  /** From our close frame to the server's; undefined unless both were sent. Not part of any phase. */
  readonly closeMs: number | undefined;
  readonly phases: WebSocketPhases;
  readonly measurement: ProbeMeasurement;
  /** CPU time that this thread spent processing the server's data, in milliseconds. */
  readonly workMs: number;
  readonly certificate: CertificateFacts | undefined;
  /** Null with a proxy. */
  readonly address: string | null;
}

/** Runs one conversation on one fresh connection. Never throws because of a peer; a rejection is a bug of ours. */
export async function probeWebSocket(
  request: WebSocketProbeRequest,
  controls: WebSocketProbeControls,
): Promise<WebSocketProbeResult> {
  return await new Probe(request, controls).run();
}

/** Timeout for the body of a refusal, whose status is already known. */
const refusalWaitMs = 1000;

/** CONNECTING -> ASKING (the handshake) -> TALKING (see Conversation) -> done; on failure straight to done. */
class Probe {
  readonly #request: WebSocketProbeRequest;
  readonly #controls: WebSocketProbeControls;
  readonly #connection: Connection;
  readonly #startMs = performance.now();
  readonly #failed = Promise.withResolvers<Error>();
  readonly #key = newKey();
  readonly #answer = new HandshakeAnswer();
  #conversation: Conversation | undefined;
  #refusalTimer: NodeJS.Timeout | undefined;
  #askedMs = 0;
  #sentMs = 0;
  #answeredMs = 0;
  #workMs = 0;

  constructor(request: WebSocketProbeRequest, controls: WebSocketProbeControls) {
    this.#request = request;
    this.#controls = controls;
    this.#connection = new Connection({
      ...request.target,
      alpnProtocols: ['http/1.1'],
      isAlwaysTunnelled: true,
    });
  }

  async run(): Promise<WebSocketProbeResult> {
    const { timeoutMs } = this.#controls;
    const interruptions = new Interruptions(this.#controls, (interruption) => {
      const { where } = this.#connection;
      // All steps are done; only the server's close frame is missing.
      if (interruption === 'deadline' && this.#conversation?.isClosing) this.#conversation.stop(undefined);
      else this.#failed.resolve(interruptionError(interruption, { phase: this.#phase, where, timeoutMs }));
    });
    try {
      const stopped = this.#failed.promise.then((error) => {
        this.#conversation?.stepClock.interrupt();
        return error;
      });
      const thrown = await Promise.race([stopped, this.#steps()]);
      return await this.#result(thrown);
    } finally {
      interruptions.release();
      clearTimeout(this.#refusalTimer);
      this.#connection.destroy();
    }
  }

  get #phase(): ProbePhase {
    if (!this.#connection.isOpen) return this.#connection.phase;
    return this.#conversation ? 'message' : 'firstByte';
  }

  async #steps(): Promise<Error | undefined> {
    if (this.#controls.signal.aborted) return await this.#failed.promise;
    try {
      const message = this.#message();
      const socket = await this.#connected();
      const open = await this.#asked(socket, message);
      return open ? await open.hold(this.#request.steps) : undefined;
    } catch (thrown) {
      return toError(thrown);
    }
  }

  /** @throws ProbeError `request-invalid` */
  #message(): RequestMessage {
    const { message, subprotocols, target } = this.#request;
    const headers = [...message.headers, ...upgradeHeaders(this.#key, subprotocols)];
    const whole = { ...message, headers, isSecure: target.isSecure, method: 'GET', body: undefined };
    requireSendable(whole);
    return whole;
  }

  #connected(): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    this.#connection.open(this.#controls, (error, socket) => {
      if (socket) resolve(socket);
      else reject(error ?? new Error('connected without a socket'));
    });
    return promise;
  }

  /** Makes the handshake. @returns the conversation to begin; undefined if the server does not switch protocols. */
  #asked(socket: Socket, message: RequestMessage): Promise<Conversation | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Conversation | undefined>();
    const onError = (error: Error) => {
      reject(error);
      this.#conversation?.stop(error);
    };
    const onEnd = () => {
      if (this.#conversation) this.#conversation.stop(undefined);
      else if (this.#isRefusalWhole(reject)) resolve(undefined);
      else reject(this.#broken('connection-reset', 'the peer closed the connection during the handshake'));
    };
    socket.on('data', (bytes: Buffer) =>
      this.#work(() => {
        try {
          if (this.#conversation) this.#conversation.feed(bytes);
          else this.#read(socket, bytes, resolve);
        } catch (thrown) {
          onError(toError(thrown));
        }
      }),
    );
    socket.on('error', onError);
    socket.once('end', onEnd);
    socket.once('close', onEnd);
    this.#connection.beforeSending();
    this.#askedMs = performance.now();
    socket.write(http1Bytes(message));
    this.#sentMs = this.#connection.sentSince(this.#askedMs);
    return promise;
  }

  #read(socket: Socket, bytes: Buffer, done: (conversation: Conversation | undefined) => void): void {
    const { receivedBytes } = this.#connection;
    const takenBytes = this.#feed(bytes);
    const { head } = this.#answer;
    if (!head) return;
    const { isSecure, proxy } = this.#request.target;
    // TLS hides where on the wire the head ended.
    const isPlain = !isSecure && proxy?.isSecure !== true;
    if (this.#answeredMs === 0) {
      const behindBytes = isPlain ? bytes.length - takenBytes : 0;
      this.#answeredMs = this.#connection.arrivalOf(receivedBytes - behindBytes, performance.now());
    }
    if (head.status !== 101) {
      if (this.#answer.isDone) done(undefined);
      else this.#refusalTimer ??= setTimeout(() => done(undefined), refusalWaitMs);
      return;
    }
    const problem = handshakeProblem(head, { key: this.#key, subprotocols: this.#request.subprotocols });
    if (problem !== undefined) {
      throw this.#broken('response-malformed', `the handshake response is invalid: ${problem}`);
    }
    this.#conversation = new Conversation(socket, this.#connection, { openedMs: this.#answeredMs, isPlain });
    done(this.#conversation);
    if (takenBytes < bytes.length) this.#conversation.feed(bytes.subarray(takenBytes));
  }

  #feed(bytes: Buffer): number {
    try {
      return this.#answer.feed(bytes);
    } catch (thrown) {
      if (!(thrown instanceof MalformedAnswer)) throw thrown;
      throw this.#broken('response-malformed', thrown.message);
    }
  }

  /** A refusal without a length ends with its connection. */
  #isRefusalWhole(reject: (error: Error) => void): boolean {
    try {
      return this.#answer.end();
    } catch (thrown) {
      reject(
        thrown instanceof MalformedAnswer
          ? this.#broken('response-malformed', thrown.message)
          : toError(thrown),
      );
      return false;
    }
  }

  #broken(kind: 'connection-reset' | 'response-malformed', message: string): ProbeError {
    return new ProbeError(kind, 'firstByte', `${message} (${this.#connection.where})`);
  }

  /** Adds the CPU time of a step to the run's. */
  #work(step: () => void): void {
    const before = process.threadCpuUsage();
    step();
    const { user, system } = process.threadCpuUsage(before);
    this.#workMs += (user + system) / 1000;
  }

  async #result(thrown: Error | undefined): Promise<WebSocketProbeResult> {
    const connection = this.#connection;
    const conversation = this.#conversation;
    const classified =
      thrown && classifyError(connection.explained(thrown), this.#phase, connection.where, connection.peer);
    if (classified && !(classified instanceof ProbeError)) throw classified;
    const silentMs = classified ? connection.silentMs() : 0;
    const endMs = performance.now();
    const phases = this.#phases();
    const error = await settledError(classified, connection, this.#request.target.proxy, this.#controls);
    const { head } = this.#answer;
    return {
      error,
      head,
      refusal: this.#answer.body,
      isOpened: conversation !== undefined,
      subprotocol: conversation && head ? agreedSubprotocol(head) : null,
      messages: conversation?.messages ?? [],
      outcomes: conversation?.stepClock.outcomes ?? [],
      pingCount: conversation?.pingCount ?? 0,
      close: conversation?.close,
      closeMs: conversation?.closeMs,
      phases,
      measurement: {
        clock: connection.clock,
        overheadMs: Math.max(0, endMs - this.#startMs - phases.total - (conversation?.closeMs ?? 0)),
        lagMs: connection.lagMs,
        doubtMs: connection.doubtMs,
        ...(error && { waitedMs: Math.max(silentMs, connection.clock === 'kernel' ? phases.total : 0) }),
      },
      workMs: this.#workMs,
      certificate: connection.certificate,
      address: this.#request.target.proxy ? null : connection.address,
    };
  }

  #phases(): WebSocketPhases {
    const { dnsMs, tcpMs, proxyMs, tlsMs } = this.#connection.times;
    const handshake = this.#handshakeMs();
    const messages = this.#conversation?.stepClock.waitedMs ?? 0;
    const total = dnsMs + tcpMs + proxyMs + tlsMs + handshake + messages;
    return { dns: dnsMs, connect: tcpMs, proxy: proxyMs, tls: tlsMs, handshake, messages, total };
  }

  /** A response cannot precede its request: if the timestamps say so, this thread read the clock too late. */
  #handshakeMs(): number {
    if (this.#askedMs === 0) return 0;
    if (this.#answeredMs === 0) return Math.max(0, performance.now() - this.#sentMs);
    const waitMs = this.#answeredMs - this.#sentMs;
    return Math.max(0, waitMs, Math.min(this.#answeredMs - this.#askedMs, quickestAnswerMs));
  }
}
