import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { toError } from '@picket/lib/errors.ts';
import { hostAndPort, type WantedFamily } from '../address.ts';
import type { CertificateFacts } from '../connection/certificate.ts';
import { Connection } from '../connection/connection.ts';
import { classifyError, ProbeError, type ProbePhase } from '../connection/errors.ts';
import type { ForwardProxy } from '../connection/forward-proxy.ts';
import { type InterruptionSources, Interruptions, interruptionError } from '../connection/interruption.ts';
import { settledError } from '../connection/proxy-question.ts';
import type { ClientIdentity } from '../connection/secure-contexts.ts';
import type { ConnectionOptions } from '../connection/target.ts';
import { maxHeadBytes } from '../http/answer-parser.ts';
import type { ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import { type CallEnd, type CallRequest, callMethod } from './call.ts';
import { CallTimes, CallWire } from './call-times.ts';
import type { MessageLimits } from './messages.ts';
import type { MetadataEntry } from './metadata.ts';
import { ReflectionFailed, reflectedFiles } from './reflection.ts';
import { openSession } from './session.ts';
import { type GrpcStatus, ownStatus } from './status.ts';

/** The call to make, once its method is known. */
export type PlannedCall = Pick<CallRequest, 'path' | 'message' | 'isServerStream' | 'wantedMessages'>;

/** A call to measure. */
export interface GrpcProbeRequest {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly family: WantedFamily;
  /** Proxy for the connection, if any. */
  readonly proxy?: ForwardProxy | undefined;
  /** Absent for HTTP/2 without TLS. */
  readonly tls:
    | {
        readonly isCertificateChecked: boolean;
        readonly serverName: string | undefined;
        readonly clientIdentity: ClientIdentity | undefined;
      }
    | undefined;
  readonly metadata: readonly MetadataEntry[];
  readonly call:
    | PlannedCall
    | {
        /** The symbol that the server describes by reflection. */
        readonly symbol: string;
        /** Plans the call from the description; an error it throws is the server's, for describing something else. */
        plan(files: readonly FileDescriptorProto[]): PlannedCall;
      };
  readonly limits: MessageLimits;
}

export interface GrpcProbeControls extends ConnectionOptions, InterruptionSources {}

/** Duration of each step in milliseconds; all but `total` add up to it. Reflection is not included. */
export interface GrpcPhases {
  dns: number;
  /** TCP connection to the target; with a proxy, including the proxy's response. */
  connection: number;
  /** 0 without TLS. */
  tls: number;
  /** From sending the HTTP/2 preface to the settings of the server. */
  settings: number;
  /** From sending the call to the head of the response. */
  wait: number;
  /** From the head of the response to its trailers. */
  download: number;
  total: number;
}

/** Result of a probe. With an error, `end` holds the data received so far. */
export interface GrpcProbeResult {
  readonly error: ProbeError | undefined;
  /** Status of the call; without a status from the server, the one that gRPC clients derive. */
  readonly status: GrpcStatus;
  readonly end: CallEnd | undefined;
  readonly phases: GrpcPhases;
  /** Duration of the reflection exchange; 0 without reflection. */
  readonly reflectionMs: number;
  readonly measurement: ProbeMeasurement;
  /** CPU time that this thread spent processing the server's data, in milliseconds. */
  readonly workMs: number;
  readonly certificate: CertificateFacts | undefined;
  /** Null without a connection, or with a proxy. */
  readonly address: string | null;
}

/** Limit for received bytes, as a multiple of the message limits: frame headers and empty frames add overhead. */
const wirePart = 4;
const wireWatchMs = 100;

/** Calls one method on one fresh connection. Never throws because of a peer; a rejection is a bug of ours. */
export async function probeGrpc(
  request: GrpcProbeRequest,
  controls: GrpcProbeControls,
): Promise<GrpcProbeResult> {
  const conversation = new Conversation(request, controls);
  const result = await conversation.hold();
  return {
    ...result,
    error: await settledError(result.error, conversation.connection, request.proxy, controls),
  };
}

/**
 * States of a conversation: CONNECTING -> SETTLING (HTTP/2) -> ASKING (reflection, if wanted) -> CALLING -> done, and
 * from each of them straight to done on failure.
 */
class Conversation {
  readonly #request: GrpcProbeRequest;
  readonly #controls: GrpcProbeControls;
  readonly connection: Connection;
  readonly #startMs = performance.now();
  readonly #endMs: number;
  readonly #failed = Promise.withResolvers<Error>();
  readonly #wire = new CallWire();
  readonly #settling: CallTimes;
  #calling: CallTimes | undefined;
  #session: ClientHttp2Session | undefined;
  #reflectionMs = 0;
  #workMs = 0;
  /** The result of the call is known; only its messages remain to be read. */
  #isSettled = false;

  constructor(request: GrpcProbeRequest, controls: GrpcProbeControls) {
    const { hostname, port, family, tls, proxy } = request;
    this.#request = request;
    this.#controls = controls;
    this.#endMs = this.#startMs + controls.timeoutMs;
    this.connection = new Connection({
      hostname,
      port,
      family,
      isSecure: tls !== undefined,
      serverName: tls?.serverName,
      isCertificateChecked: tls?.isCertificateChecked ?? true,
      clientIdentity: tls?.clientIdentity,
      proxy,
      alpnProtocols: ['h2'],
    });
    this.#settling = new CallTimes(this.connection, this.#wire);
  }

  async hold(): Promise<GrpcProbeResult> {
    const { timeoutMs } = this.#controls;
    const interruptions = new Interruptions(this.#controls, (interruption) => {
      const { where } = this.connection;
      this.#failed.resolve(interruptionError(interruption, { phase: this.#phase, where, timeoutMs }));
    });
    const wireWatch = setInterval(() => this.#watchWire(), wireWatchMs);
    try {
      const outcome = await Promise.race([this.#failed.promise, this.#steps()]);
      return this.#result(outcome);
    } finally {
      interruptions.release();
      clearInterval(wireWatch);
      this.#session?.destroy();
      this.connection.destroy();
    }
  }

  get #phase(): ProbePhase {
    return this.connection.isOpen ? 'firstByte' : this.connection.phase;
  }

  get #authority(): string {
    const { hostname, port, tls } = this.#request;
    return hostAndPort(tls?.serverName ?? hostname, port);
  }

  async #steps(): Promise<CallEnd | Error> {
    if (this.#controls.signal.aborted) return await this.#failed.promise;
    const socket = await this.#connected();
    if (socket instanceof Error) return socket;
    const refusal = this.#protocolProblem(socket);
    if (refusal) return refusal;
    // A call in progress reports a more specific error in this turn of the event loop.
    const onFailure = (error: Error) =>
      setImmediate(() => {
        if (!this.#isSettled) this.#failed.resolve(error);
      });
    this.#session = await openSession(socket, this.#authority, {
      ...{ times: this.#settling, wire: this.#wire, onFailure },
    });
    try {
      const planned = await this.#planned(this.#session);
      this.#calling = new CallTimes(this.connection, this.#wire);
      return await this.#call(this.#session, planned, this.#calling, () => {
        this.#isSettled = true;
      });
    } catch (thrown) {
      if (thrown instanceof ReflectionFailed) {
        return new ProbeError('reflection-failed', 'firstByte', `server reflection: ${thrown.message}`);
      }
      return toError(thrown);
    }
  }

  #connected(): Promise<Socket | Error> {
    const { promise, resolve } = Promise.withResolvers<Socket | Error>();
    this.connection.open(this.#controls, (error, socket) =>
      resolve(error ?? socket ?? new Error('connected without a socket')),
    );
    return promise;
  }

  #protocolProblem(socket: Socket): ProbeError | undefined {
    const { alpnProtocol } = socket as { alpnProtocol?: string | false };
    if (!this.#request.tls || alpnProtocol === 'h2') return undefined;
    const message = `the server does not agree to speak HTTP/2 (ALPN), which gRPC needs (${this.connection.where})`;
    return new ProbeError('handshake-failed', 'tls', message);
  }

  async #planned(session: ClientHttp2Session): Promise<PlannedCall> {
    const { call } = this.#request;
    if ('path' in call) return call;
    const beforeMs = performance.now();
    const files = await reflectedFiles(call.symbol, async (path, message) => {
      const planned = { path, message, isServerStream: true, wantedMessages: 1 };
      return await this.#call(session, planned, new CallTimes(this.connection, this.#wire));
    });
    this.#reflectionMs = performance.now() - beforeMs;
    let planned: PlannedCall | undefined;
    this.#work(() => {
      planned = call.plan(files);
    });
    if (!planned) throw new Error('the call was not planned');
    return planned;
  }

  async #call(
    session: ClientHttp2Session,
    planned: PlannedCall,
    times: CallTimes,
    onSettled?: () => void,
  ): Promise<CallEnd> {
    const { metadata, limits, tls } = this.#request;
    const timeoutMs = this.#endMs - performance.now();
    const request = {
      ...planned,
      metadata,
      timeoutMs,
      authority: this.#authority,
      isSecure: tls !== undefined,
    };
    return await callMethod(session, request, {
      ...{ limits, times, onSettled },
      work: (step) => this.#work(step),
    });
  }

  /** Ends a conversation that has received more than its limits can explain. */
  #watchWire(): void {
    const mostBytes = wirePart * (this.#request.limits.bytes + maxHeadBytes);
    if (this.connection.receivedBytes <= mostBytes) return;
    const message = `more than ${mostBytes} bytes arrived without a response (${this.connection.where})`;
    this.#failed.resolve(new ProbeError('response-malformed', this.#phase, message));
  }

  /** Adds the CPU time of a step to the run's. */
  #work(step: () => void): void {
    const before = process.threadCpuUsage();
    step();
    const { user, system } = process.threadCpuUsage(before);
    this.#workMs += (user + system) / 1000;
  }

  #result(outcome: CallEnd | Error): GrpcProbeResult {
    const connection = this.connection;
    const end = outcome instanceof Error ? undefined : outcome;
    const error = outcome instanceof Error ? this.#classified(outcome) : this.#faultOf(outcome);
    if (error && !(error instanceof ProbeError)) throw error;
    const silentMs = error ? connection.silentMs() : 0;
    const endMs = performance.now();
    const phases = this.#phases();
    return {
      error,
      status: end?.status ?? statusOfError(error),
      end,
      phases,
      reflectionMs: this.#reflectionMs,
      measurement: {
        clock: connection.clock,
        overheadMs: Math.max(0, endMs - this.#startMs - phases.total - this.#reflectionMs),
        lagMs: connection.lagMs,
        doubtMs: connection.doubtMs + (this.#calling?.doubtMs ?? 0),
        ...(error && { waitedMs: Math.max(silentMs, connection.clock === 'kernel' ? phases.total : 0) }),
      },
      workMs: this.#workMs,
      certificate: connection.certificate,
      address: this.#request.proxy ? null : connection.address,
    };
  }

  #classified(thrown: Error): Error {
    const { where } = this.connection;
    return classifyError(this.connection.explained(thrown), this.#phase, where, this.connection.peer);
  }

  #faultOf({ fault }: CallEnd): Error | undefined {
    if (!fault) return undefined;
    const { where } = this.connection;
    return this.#classified(new ProbeError(fault.kind, this.#phase, `${fault.message} (${where})`));
  }

  #phases(): GrpcPhases {
    const { dnsMs, tcpMs, proxyMs, tlsMs } = this.connection.times;
    const connection = tcpMs + proxyMs;
    const settings = this.#settling.waitMs;
    const wait = this.#calling?.waitMs ?? 0;
    const download = this.#calling?.downloadMs ?? 0;
    return {
      ...{ dns: dnsMs, connection, tls: tlsMs, settings, wait, download },
      total: dnsMs + connection + tlsMs + settings + wait + download,
    };
  }
}

/** Maps an error to the status that gRPC clients report. */
function statusOfError(error: ProbeError | undefined): GrpcStatus {
  if (error?.kind === 'aborted') return ownStatus('CANCELLED', error.message);
  if (error?.code === 'ETIMEDOUT') return ownStatus('DEADLINE_EXCEEDED', error.message);
  if (error?.kind === 'request-invalid') return ownStatus('INVALID_ARGUMENT', error.message);
  return ownStatus('UNAVAILABLE', error?.message ?? '');
}
