import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { WantedFamily } from '../address.ts';
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
import type { ClientIdentity } from '../connection/secure-contexts.ts';
import type { ConnectionOptions, Upgrade } from '../connection/target.ts';
import type { ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import { type HandshakeFacts, readHandshake } from './handshake-facts.ts';

/** A handshake to inspect. */
export interface TlsProbeRequest {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly family: WantedFamily;
  /** Proxy for the connection, if any. */
  readonly proxy?: ForwardProxy | undefined;
  /** The TLS server name, if it differs from the hostname. */
  readonly serverName: string | undefined;
  readonly alpnProtocols: readonly string[];
  readonly clientIdentity: ClientIdentity | undefined;
  /** The exchange that requests TLS; absent if the target speaks TLS from the start. */
  readonly upgrade: Upgrade | undefined;
}

export interface TlsProbeControls extends ConnectionOptions, InterruptionSources {}

/** Result of a probe. Either `error` or `handshake` is set. */
export interface TlsProbeResult {
  readonly error: ProbeError | undefined;
  readonly handshake: HandshakeFacts | undefined;
  /** Durations of the steps that were reached, in milliseconds; 0 for the others. */
  readonly phases: TlsPhases;
  readonly measurement: ProbeMeasurement;
  /** Null without a connection, or with a proxy. */
  readonly address: string | null;
}

/** Duration of each step in milliseconds; all but `total` add up to it. */
export interface TlsPhases {
  dns: number;
  /** TCP connection to the target; with a proxy, including the proxy's response. */
  connection: number;
  /** 0 without STARTTLS. */
  startTls: number;
  tls: number;
  total: number;
}

/**
 * Connects once, negotiates TLS with any parameters the target supports, reads the facts of the handshake, and closes.
 * Never throws because of a peer; a rejection is a bug of ours.
 */
export async function probeTls(
  request: TlsProbeRequest,
  controls: TlsProbeControls,
): Promise<TlsProbeResult> {
  const startMs = performance.now();
  let staple: Buffer | undefined;
  const connection = new Connection({
    ...request,
    proxy: request.proxy,
    isSecure: true,
    isCertificateChecked: false,
    inspection: {
      onStaple: (response) => {
        staple = response;
      },
    },
  });
  const { promise, resolve } = Promise.withResolvers<Socket | Error>();
  const interrupt = (interruption: Interruption) => {
    const { phase, where } = connection;
    resolve(interruptionError(interruption, { phase, where, timeoutMs: controls.timeoutMs }));
  };
  const interruptions = new Interruptions(controls, interrupt);
  if (!controls.signal.aborted)
    connection.open(controls, (error, socket) => resolve(error ?? socket ?? neither()));
  const ending = await promise;
  const endMs = performance.now();
  interruptions.release();
  const { phase, where, peer } = connection;
  const error = ending instanceof Error ? classifyError(ending, phase, where, peer) : undefined;
  const silentMs = error ? connection.silentMs() : 0;
  try {
    if (error && !(error instanceof ProbeError)) throw error;
    const hostname = request.serverName ?? request.hostname;
    const handshake =
      ending instanceof TLSSocket ? readHandshake(ending, { hostname, where, peer, staple }) : undefined;
    if (error) connection.destroy();
    const phases = phasesOf(connection);
    const measurement = {
      clock: connection.clock,
      overheadMs: Math.max(0, endMs - startMs - phases.total),
      lagMs: connection.lagMs,
      doubtMs: connection.doubtMs,
      ...(error && { waitedMs: Math.max(silentMs, connection.clock === 'kernel' ? phases.total : 0) }),
    };
    if (ending instanceof TLSSocket) await takeLeave(ending);
    return {
      error: await settledError(error, connection, request.proxy, controls),
      handshake,
      phases,
      measurement,
      address: request.proxy ? null : connection.address,
    };
  } finally {
    connection.destroy();
  }
}

/** Long enough for a packet to leave; there is nothing else to wait for. */
const leaveMs = 100;

/** Lets the last handshake packet leave, and closes properly: otherwise the server would log an error at every run. */
async function takeLeave(socket: TLSSocket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, leaveMs);
  socket.once('close', () => resolve());
  socket.end(() => resolve());
  await promise;
  clearTimeout(timer);
}

function neither(): Error {
  return new Error('connected without a socket');
}

function phasesOf({ times: { dnsMs, tcpMs, proxyMs, startTlsMs, tlsMs } }: Connection): TlsPhases {
  return {
    dns: dnsMs,
    connection: tcpMs + proxyMs,
    startTls: startTlsMs,
    tls: tlsMs,
    total: dnsMs + tcpMs + proxyMs + startTlsMs + tlsMs,
  };
}
