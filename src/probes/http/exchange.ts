import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { CertificateFacts } from '../connection/certificate.ts';
import { Connection } from '../connection/connection.ts';
import {
  classifyError,
  ProbeError,
  type ProbeErrorKind,
  type ProbePhase,
  probePhases,
} from '../connection/errors.ts';
import type { ConnectionOptions, ConnectionTarget } from '../connection/target.ts';
import type { StampClock } from '../sys/kernel-clock.ts';
import type { ResponseHead, ResponseHeaders } from './answer-head.ts';
import { maxHeadBytes } from './answer-parser.ts';
import { BodyCollector, type CollectedBody } from './body/body.ts';
import type { BodyShare } from './body/body-memory.ts';
import type { Call, CallHooks, CallListener } from './call.ts';
import { ExchangeTimes } from './exchange-times.ts';
import { Http1Call } from './http1-call.ts';
import { Http2Call } from './http2/call.ts';
import type { Challenged, Reaction } from './login/login.ts';
import type { HopTimes, LoginLeg } from './phases.ts';
import { type RequestMessage, requireSendable } from './request-message.ts';

/** One request on one fresh connection, repeated there while a login goes on. */
export interface ExchangeRequest {
  readonly target: ConnectionTarget;
  readonly message: RequestMessage;
  readonly maxBodyBytes: number;
  /** The memory share of the body. */
  readonly bodyShare: BodyShare | undefined;
  /** Returns whether to read the body of a response with this status and headers. */
  isBodyWanted(status: number, headers: ResponseHeaders): boolean;
  /** Answers challenges; absent if the request has all its credentials, or none. */
  readonly login?:
    | {
        /** Reads a 401. */
        react(challenged: Challenged): Reaction;
        /** Returns the message with this value of `Authorization`. */
        message(authorization: string): RequestMessage;
      }
    | undefined;
}

/** Result of an exchange. With an error, `head` and `body` hold the data received so far. */
export interface ExchangeResult {
  readonly head: ResponseHead | undefined;
  readonly body: CollectedBody;
  readonly error: ProbeError | undefined;
  /** True if either the proxy or the target behind it may have caused the error. */
  readonly isProxyInDoubt: boolean;
  readonly times: HopTimes;
  readonly clock: StampClock;
  readonly lagMs: number;
  readonly doubtMs: number;
  /** How long the connection had been silent when the exchange failed. */
  readonly silentMs: number;
  /** CPU time that this thread spent processing the peer's data, in milliseconds. */
  readonly workMs: number;
  /** The target's certificate and TLS parameters; absent without TLS. */
  readonly certificate: CertificateFacts | undefined;
  readonly address: string | null;
  /** The value of `Authorization` with which to go on over another connection, because this one is over. */
  readonly authorization: string | undefined;
}

/** Most requests of a login on one connection. */
const mostLegs = 12;
/** Most bytes of a challenge's body that are read, to use its connection again. */
const mostChallengeBytes = 256 * 1024;

/** Limit for received bytes, as a multiple of the response's limits: frame headers and empty frames add overhead. */
const wirePart = 4;
/** Interval of checks on the bytes received over HTTP/2: some frames emit no event. */
const wireWatchMs = 100;

/** Errors that a proxy forwarding plain HTTP may cause itself or pass on from the target. */
const relayedKinds: ReadonlySet<ProbeErrorKind> = new Set([
  'response-timeout',
  'connection-reset',
  'response-malformed',
]);

const noBody: CollectedBody = { bytes: Buffer.alloc(0), isTruncated: false, isOverLimit: false };
const unreadBody: CollectedBody = { ...noBody, isTruncated: true };

/**
 * States of an exchange: CONNECTING -> WAITING for the head -> DOWNLOADING -> DECODING -> done, and from each state
 * straight to done on failure or `stop`. A challenge of a login leads from WAITING back to WAITING. Done is final: it happens once, releases the connection, and later events from
 * sockets or zlib are ignored.
 */
export class Exchange {
  readonly #request: ExchangeRequest;
  readonly #connection: Connection;
  #times: ExchangeTimes;
  readonly #legs: LoginLeg[] = [];
  #legsDoubtMs = 0;
  /** The challenge whose body is being read. */
  #challenge: { readonly head: ResponseHead; readonly reaction: Reaction & { kind: 'continue' } } | undefined;
  #challengeBytes = 0;
  #authorization: string | undefined;
  /** The same for the request that is under way on a connection that was used before, until its response begins. */
  #repeatable: string | undefined;
  #call: Call | undefined;
  #head: ResponseHead | undefined;
  #body: BodyCollector | undefined;
  #workMs = 0;
  #wireWatch: NodeJS.Timeout | undefined;
  #settle:
    | { readonly resolve: (result: ExchangeResult) => void; readonly reject: (error: Error) => void }
    | undefined;

  constructor(request: ExchangeRequest) {
    this.#request = request;
    this.#connection = new Connection(request.target);
    this.#times = new ExchangeTimes(this.#connection);
  }

  /** The step in progress. */
  get phase(): ProbePhase {
    if (!this.#connection.isOpen) return this.#connection.phase;
    return this.#head ? 'download' : 'firstByte';
  }

  /** The peer of the step in progress, for messages. */
  get where(): string {
    return this.#connection.where;
  }

  /**
   * Sends the request and reads the response. Failures of the peer are results; the promise rejects only for bugs of
   * ours.
   */
  run(means: ConnectionOptions): Promise<ExchangeResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ExchangeResult>();
    this.#settle = { resolve, reject };
    try {
      requireSendable(this.#request.message);
    } catch (thrown) {
      this.#finish(thrown as Error);
      return promise;
    }
    this.#connection.open(means, (error, socket) => {
      if (socket) this.#ask(socket, this.#request.message);
      else this.#finish(error ?? new Error('connected without a socket'));
    });
    return promise;
  }

  /** Ends the exchange with that error, unless it is done. */
  stop(error: ProbeError): void {
    this.#finish(error);
  }

  #ask(socket: Socket, message: RequestMessage): void {
    this.#times.begin();
    const hooks: CallHooks = {
      listener: this.#listener(socket),
      sending: this.#times.sending,
      work: (step) => this.#work(step),
    };
    const isHttp2 = (socket as { alpnProtocol?: unknown }).alpnProtocol === 'h2';
    try {
      this.#call = isHttp2
        ? new Http2Call(socket, message, { ...hooks, wire: this.#times.http2 })
        : new Http1Call(socket, message, hooks);
    } catch (thrown) {
      this.#finish(thrown as Error);
      return;
    }
    if (!this.#settle) this.#call.destroy();
    else if (isHttp2) this.#wireWatch = setInterval(() => this.#watchWire(), wireWatchMs);
  }

  #listener(socket: Socket): CallListener {
    return {
      onStart: () => {
        this.#repeatable = undefined;
        this.#times.recordFirstByte();
      },
      onHead: (head) => {
        if (!this.#isChallenge(head)) this.#start(head);
      },
      onBody: (bytes) => {
        if (this.#challenge) this.#passOver(bytes.length);
        this.#body?.write(bytes);
        this.#watchWire();
      },
      onEnd: () => {
        this.#times.recordEnd();
        if (this.#challenge) this.#goOn(socket);
        else if (this.#body) this.#body.end((error) => this.#finish(error));
        else this.#finish(null);
      },
      onFailure: (error) => {
        if (!this.#isLeftToRepeat()) this.#finish(error);
      },
      onBroken: (kind, message) => {
        if (kind === 'connection-reset' && this.#isLeftToRepeat()) return;
        const text = message ?? `the peer closed the connection while ${probePhases[this.phase]}`;
        this.#finish(new ProbeError(kind, this.phase, `${text} (${this.where})`));
      },
    };
  }

  /** Whether a response is a challenge of the login, which goes on after its body. */
  #isChallenge(head: ResponseHead): boolean {
    const { login, target } = this.#request;
    if (!this.#settle || head.status !== 401 || !login || this.#legs.length >= mostLegs) return false;
    const certificate = () => {
      const { der } = this.#connection.certificate ?? {};
      return target.isSecure && der ? new X509Certificate(der) : undefined;
    };
    const reaction = login.react({ headers: head.headers, certificate });
    if (reaction.kind === 'end') return false;
    // Without a listener, a rejection before the end of the body would end the process.
    Promise.resolve(reaction.authorization).catch(() => undefined);
    this.#challenge = { head, reaction };
    this.#challengeBytes = 0;
    return true;
  }

  #passOver(sizeBytes: number): void {
    this.#challengeBytes += sizeBytes;
    if (this.#challengeBytes <= mostChallengeBytes) return;
    const text = `a challenge with a body of more than ${mostChallengeBytes / 1024} KB (${this.where})`;
    this.#finish(new ProbeError('response-malformed', this.phase, text));
  }

  /** Sends the next request of a login, over this connection if the server keeps it open. */
  #goOn(socket: Socket): void {
    const { login } = this.#request;
    const { head, reaction } = this.#challenge ?? {};
    if (!this.#settle || !login || !head || !reaction) return;
    this.#challenge = undefined;
    const { waitMs, downloadMs } = this.#times.hop();
    this.#legs.push({ status: head.status, waitMs, downloadMs });
    this.#legsDoubtMs += this.#times.doubtMs;
    this.#times = new ExchangeTimes(this.#connection);
    this.#call?.destroy();
    const send = (authorization: string) => {
      if (!this.#settle) return;
      const isOpen = isPersistent(head) && socket.writable && !socket.readableEnded;
      const message = login.message(authorization);
      try {
        requireSendable(message);
      } catch (thrown) {
        this.#finish(thrown as Error);
        return;
      }
      if (isOpen) {
        this.#repeatable = reaction.isBound ? undefined : authorization;
        this.#ask(socket, message);
      } else if (reaction.isBound) {
        const text = `the server closed the connection in the middle of a login (${this.where})`;
        this.#finish(new ProbeError('connection-reset', this.phase, text));
      } else {
        this.#authorization = authorization;
        this.#finish(null);
      }
    };
    const { authorization } = reaction;
    if (typeof authorization === 'string') send(authorization);
    else authorization.then(send, (error: Error) => this.#finish(error));
  }

  /**
   * Ends the exchange if a connection broke that was used before, and nothing was answered: servers may close it at any
   * time (RFC 9112 section 9.5), so the request is repeated over a new one.
   */
  #isLeftToRepeat(): boolean {
    if (this.#repeatable === undefined) return false;
    this.#authorization = this.#repeatable;
    this.#finish(null);
    return true;
  }

  #start(head: ResponseHead): void {
    if (!this.#settle) return;
    this.#head = head;
    if (!this.#request.isBodyWanted(head.status, head.headers)) {
      this.#finish(null);
      return;
    }
    this.#body = new BodyCollector({
      limitBytes: this.#request.maxBodyBytes,
      encodings: [...listed(head, 'content-encoding'), ...listed(head, 'transfer-encoding')],
      peer: this.where,
      share: this.#request.bodyShare,
      source: {
        onFull: () => this.#call?.pause(),
        onDrained: () => this.#call?.resume(),
        onStop: () => this.#finish(this.#body?.failure ?? null),
      },
    });
  }

  /** Ends a response that has received more bytes than its limits can explain. */
  #watchWire(): void {
    const mostBytes = wirePart * (this.#request.maxBodyBytes + maxHeadBytes) + this.#times.bytesBefore;
    if (!this.#settle || this.#connection.receivedBytes <= mostBytes) return;
    if (this.#body) this.#body.stop();
    else this.#finish(new ProbeError('response-malformed', this.phase, `endless headers (${this.where})`));
  }

  /** Adds the CPU time of a step to the run's. */
  #work(step: () => void): void {
    const before = process.threadCpuUsage();
    step();
    const { user, system } = process.threadCpuUsage(before);
    this.#workMs += (user + system) / 1000;
  }

  #finish(thrown: Error | null): void {
    const settle = this.#settle;
    if (!settle) return;
    this.#settle = undefined;
    clearInterval(this.#wireWatch);
    const error = thrown ? this.#classified(thrown) : undefined;
    const silentMs = error ? this.#connection.silentMs() : 0;
    this.#times.finish({ isWhole: !thrown && this.#head !== undefined });
    this.#body?.destroy();
    const isUnread = this.#head && !this.#body;
    const body = this.#body?.result() ?? (isUnread ? unreadBody : noBody);
    this.#call?.destroy();
    this.#connection.destroy();
    if (error && !(error instanceof ProbeError)) {
      settle.reject(error);
      return;
    }
    const waitedMs = this.#request.bodyShare?.waitedMs ?? 0;
    settle.resolve({
      head: this.#head,
      body: error ? { ...body, isTruncated: true } : body,
      error,
      isProxyInDoubt: error !== undefined && this.#isProxyInDoubt(error),
      times: this.#hop(),
      clock: waitedMs > 0 ? 'event' : this.#connection.clock,
      lagMs: Math.max(this.#connection.lagMs, waitedMs),
      doubtMs: this.#connection.doubtMs + this.#times.doubtMs + this.#legsDoubtMs,
      silentMs,
      workMs: this.#workMs,
      certificate: this.#connection.certificate,
      address: this.#connection.address,
      authorization: this.#authorization,
    });
  }

  #hop(): HopTimes {
    const times = this.#times.hop();
    return this.#legs.length === 0 ? times : { ...times, legs: this.#legs };
  }

  #classified(thrown: Error): Error {
    return classifyError(this.#connection.explained(thrown), this.phase, this.where, this.#connection.peer);
  }

  /** Before any HTTP response, either peer may be the one that was silent or broke off. */
  #isProxyInDoubt({ kind }: ProbeError): boolean {
    const { proxy, isSecure } = this.#request.target;
    if (!proxy) return false;
    if (!this.#connection.isOpen) return this.#connection.isTunnelPending && kind === 'proxy-failed';
    return proxy.protocol === 'http' && !isSecure && relayedKinds.has(kind);
  }
}

/** Whether the server keeps a connection open after a response (RFC 9112 section 9.3). */
function isPersistent(head: ResponseHead): boolean {
  const options = listed(head, 'connection').map((option) => option.trim().toLowerCase());
  return !options.includes('close') && (head.httpVersion !== '1.0' || options.includes('keep-alive'));
}

/** Lists the values of a header, in the order they were applied. */
function listed({ headers }: ResponseHead, name: string): string[] {
  const value = headers[name] ?? [];
  return (typeof value === 'string' ? [value] : value).flatMap((line) => line.split(','));
}
