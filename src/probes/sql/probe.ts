import type { Socket } from 'node:net';
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
import type { ConnectionOptions } from '../connection/target.ts';
import type { ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import { type SqlEngine, type SqlProtocol, sqlProtocol } from './protocols.ts';
import {
  type SqlAnswer,
  SqlMalformed,
  SqlOverdue,
  type SqlQuery,
  SqlRefusal,
  type SqlSession,
} from './session.ts';

/** A database server, a login and a query. */
export interface SqlProbeRequest {
  readonly engine: SqlEngine;
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly family: WantedFamily;
  readonly proxy: ForwardProxy | undefined;
  /** Absent: no TLS. */
  readonly tls:
    | { readonly serverName: string | undefined; readonly isCertificateChecked: boolean }
    | undefined;
  readonly query: SqlQuery;
}

export interface SqlProbeControls extends ConnectionOptions, InterruptionSources {}

/** Duration of each step in milliseconds; all but `total` add up to it. */
export interface SqlPhases {
  readonly dns: number;
  /** TCP connection to the server; with a proxy, including its tunnel. */
  readonly connection: number;
  /** Request for TLS, and its handshake; 0 without TLS. */
  readonly tls: number;
  readonly login: number;
  /** From the query to its last row; without the beginning of the transaction. */
  readonly query: number;
  readonly total: number;
}

/** Result of a probe: `answer`, or the reason for its absence. */
export interface SqlProbeResult {
  readonly error: ProbeError | undefined;
  /** Error that the server answered with, and the step. */
  readonly refusal:
    | {
        readonly step: 'login' | 'query';
        readonly message: string;
        readonly sqlState: string;
        /** Of MySQL and MariaDB. */
        readonly errorCode: number | null;
      }
    | undefined;
  readonly answer: SqlAnswer | undefined;
  readonly serverVersion: string | null;
  readonly phases: SqlPhases;
  readonly certificate: CertificateFacts | undefined;
  readonly measurement: ProbeMeasurement;
  /** Null without a connection, or with a proxy. */
  readonly address: string | null;
}

/**
 * Connects once, logs in, runs one query and leaves. The connection is ours, with its egress policy and its phases; the
 * driver only speaks the protocol over it. Never throws because of a peer; a rejection is a bug of ours.
 */
export async function probeSql(
  request: SqlProbeRequest,
  controls: SqlProbeControls,
): Promise<SqlProbeResult> {
  const probe = new SqlProbe(request, controls);
  return await probe.run();
}

class SqlProbe {
  readonly #request: SqlProbeRequest;
  readonly #controls: SqlProbeControls;
  readonly #connection: Connection;
  readonly #protocol: SqlProtocol;
  readonly #startMs = performance.now();
  #step: 'login' | 'query' = 'login';
  /** When the step in progress began. */
  #stepMs: number | undefined;
  #loginMs = 0;
  #queryMs = 0;
  #serverVersion: string | null = null;

  constructor(request: SqlProbeRequest, controls: SqlProbeControls) {
    const { engine, hostname, port, family, proxy, tls, query } = request;
    this.#request = request;
    this.#controls = controls;
    this.#protocol = sqlProtocol(engine, tls?.serverName ?? hostname, query);
    this.#connection = new Connection({
      ...{ hostname, port, family, proxy },
      isSecure: tls !== undefined,
      serverName: tls?.serverName,
      isCertificateChecked: tls?.isCertificateChecked ?? true,
      isAlwaysTunnelled: true,
      clientIdentity: undefined,
      alpnProtocols: [],
      upgrade: tls && this.#protocol.upgrade,
    });
  }

  async run(): Promise<SqlProbeResult> {
    const { promise: interrupted, reject } = Promise.withResolvers<never>();
    interrupted.catch(() => undefined);
    const interruptions = new Interruptions(this.#controls, (interruption) =>
      reject(this.#interruption(interruption)),
    );
    let session: SqlSession | undefined;
    let answer: SqlAnswer | undefined;
    let ending: Error | undefined;
    try {
      const socket = await Promise.race([interrupted, this.#open()]);
      session = this.#protocol.open(socket);
      answer = await Promise.race([interrupted, this.#held(session)]);
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown;
      ending = thrown;
    }
    const endMs = performance.now();
    interruptions.release();
    const silentMs = ending ? this.#connection.silentMs() : 0;
    if (ending) this.#complete(endMs);
    try {
      return await this.#result({ ending, answer, endMs, silentMs });
    } finally {
      if (!ending) await session?.leave();
      this.#connection.destroy();
    }
  }

  #open(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      if (this.#controls.signal.aborted) return;
      this.#connection.open(this.#controls, (error, socket) => {
        if (socket) resolve(socket);
        else reject(error ?? new Error('connected without a socket'));
      });
    });
  }

  async #held(session: SqlSession): Promise<SqlAnswer> {
    this.#stepMs = this.#connection.readyMs;
    await session.login();
    this.#complete(this.#arrivalMs());
    this.#step = 'query';
    this.#serverVersion = await session.begin();
    this.#stepMs = performance.now();
    const answer = await session.run();
    this.#complete(this.#arrivalMs());
    return answer;
  }

  #arrivalMs(): number {
    return this.#connection.arrivalOf(this.#connection.receivedBytes, performance.now());
  }

  /** Ends the step in progress. */
  #complete(atMs: number): void {
    if (this.#stepMs === undefined) return;
    const tookMs = Math.max(0, atMs - this.#stepMs);
    if (this.#step === 'login') this.#loginMs = tookMs;
    else this.#queryMs = tookMs;
    this.#stepMs = undefined;
  }

  #interruption(interruption: Interruption): ProbeError {
    const { isOpen, phase, where } = this.#connection;
    const { timeoutMs } = this.#controls;
    return interruptionError(interruption, { phase: isOpen ? 'data' : phase, where, timeoutMs });
  }

  async #result(end: {
    readonly ending: Error | undefined;
    readonly answer: SqlAnswer | undefined;
    readonly endMs: number;
    readonly silentMs: number;
  }): Promise<SqlProbeResult> {
    const { ending, answer, endMs, silentMs } = end;
    const connection = this.#connection;
    const phases = this.#phases();
    const refusal =
      ending instanceof SqlRefusal
        ? {
            step: this.#step,
            message: ending.message,
            sqlState: ending.sqlState,
            errorCode: ending.errorCode ?? null,
          }
        : undefined;
    const error = ending && !refusal ? this.#classified(ending) : undefined;
    const { proxy } = this.#request;
    return {
      error: await settledError(error, connection, proxy, this.#controls),
      refusal,
      answer,
      serverVersion: this.#serverVersion,
      phases,
      certificate: connection.certificate,
      measurement: {
        clock: connection.clock,
        overheadMs: Math.max(0, endMs - this.#startMs - phases.total),
        lagMs: connection.lagMs,
        doubtMs: connection.doubtMs,
        ...(error && { waitedMs: Math.max(silentMs, connection.clock === 'kernel' ? phases.total : 0) }),
      },
      address: proxy ? null : connection.address,
    };
  }

  #classified(ending: Error): ProbeError {
    const { isOpen, where, peer, phase } = this.#connection;
    if (ending instanceof SqlMalformed) {
      return new ProbeError('response-malformed', 'data', `${where}: ${ending.message}`);
    }
    if (ending instanceof SqlOverdue) {
      return new ProbeError('response-timeout', 'data', `${where}: ${ending.message}`, 'ETIMEDOUT');
    }
    const error = classifyError(ending, isOpen ? 'data' : phase, where, peer);
    if (!(error instanceof ProbeError)) throw error;
    return error;
  }

  #phases(): SqlPhases {
    const { dnsMs, tcpMs, proxyMs, startTlsMs, tlsMs } = this.#connection.times;
    const [connectionMs, secureMs] = [tcpMs + proxyMs, startTlsMs + tlsMs];
    return {
      dns: dnsMs,
      connection: connectionMs,
      tls: secureMs,
      login: this.#loginMs,
      query: this.#queryMs,
      total: dnsMs + connectionMs + secureMs + this.#loginMs + this.#queryMs,
    };
  }
}
