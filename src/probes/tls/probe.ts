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

/** A handshake to look at. */
export interface TlsProbeRequest {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly family: WantedFamily;
  /** Through which the connection is made, if there is one. */
  readonly proxy?: ForwardProxy | undefined;
  /** The name for TLS, where it is another. */
  readonly serverName: string | undefined;
  readonly alpnProtocols: readonly string[];
  readonly clientIdentity: ClientIdentity | undefined;
  /** How the target is asked for TLS; absent: it speaks nothing else. */
  readonly upgrade: Upgrade | undefined;
}

export interface TlsProbeControls extends ConnectionOptions, InterruptionSources {}

/** What a probe found. Either `error` is there or `handshake` is. */
export interface TlsProbeResult {
  readonly error: ProbeError | undefined;
  readonly handshake: HandshakeFacts | undefined;
  /** The steps that were reached, in milliseconds; 0 for the others. */
  readonly phases: TlsPhases;
  readonly measurement: ProbeMeasurement;
  /** Null when there was none, or a proxy in between. */
  readonly address: string | null;
}

/** Milliseconds each step took; all but `total` add up to it. */
export interface TlsPhases {
  dns: number;
  /** To the target; through a proxy, its answer included. */
  connection: number;
  /** 0 without STARTTLS. */
  startTls: number;
  tls: number;
  total: number;
}

/**
 * Connects once, makes TLS with whatever the target speaks, reads what that shows, and closes. Never throws for what a
 * peer does; a rejection is a fault of ours.
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

/** Long enough for a packet to leave, and nothing to wait for. */
const leaveMs = 100;

/**
 * Lets the end of the handshake leave, and says that nothing follows: a server that never sees it logs an error at every
 * run.
 */
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
