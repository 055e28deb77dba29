import type { Socket } from 'node:net';
import type { WantedFamily } from '../address.ts';
import type { TransportProtocol } from '../capture/filter.ts';
import type { ConnectionPolicy } from '../egress/policy.ts';
import type { Timekeeper } from '../kernel-thread/timekeeper.ts';
import type { Resolver } from '../resolver.ts';
import type { ForwardProxy } from './forward-proxy.ts';
import type { ClientIdentity } from './secure-contexts.ts';

/** Endpoint and parameters of a connection. */
export interface ConnectionTarget {
  readonly hostname: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** The name for TLS: sent as SNI and matched against the certificate; defaults to the hostname. */
  readonly serverName?: string | undefined;
  readonly family: WantedFamily;
  readonly isCertificateChecked: boolean;
  readonly clientIdentity: ClientIdentity | undefined;
  readonly proxy: ForwardProxy | undefined;
  /** True if plain text needs a tunnel, too, because the protocol is not HTTP and the proxy cannot forward it. */
  readonly isAlwaysTunnelled?: boolean | undefined;
  /** Protocols offered in the TLS handshake, the preferred one first. */
  readonly alpnProtocols: readonly string[];
  /** The plain-text exchange before TLS, if any. */
  readonly upgrade?: Upgrade | undefined;
  /** Negotiates TLS with any parameters that the target still supports, to inspect them; see TlsInspection. */
  readonly inspection?: TlsInspection | undefined;
}

/** Requests the next layer from the peer of a plain connection: TLS, or a tunnel to the target. */
export type Upgrade = (socket: Socket, exchange: UpgradeExchange) => void;

/** Sends and completes an upgrade, so that each request and its response can be timed. */
export interface UpgradeExchange {
  send(data: Buffer): void;
  /** Call once: without an error, the next byte in either direction belongs to the next layer. */
  done(error: Error | null): void;
}

/**
 * A handshake that accepts protocols, keys and signatures that other handshakes refuse, including TLS 1.0, and requests
 * a stapled OCSP response.
 */
export interface TlsInspection {
  onStaple(response: Buffer): void;
}

/** Dependencies of a connection. */
export interface ConnectionOptions {
  readonly resolver: Resolver;
  /** Checks the exact address right before connecting to it. */
  readonly egress: ConnectionPolicy;
  /** Source of timestamps; defaults to the timekeeper of this thread. */
  readonly timekeeper?: Timekeeper | undefined;
  /** Called for every connect that has begun, so that the connection can be captured. */
  readonly onAttempt?: ((attempt: ContactAttempt) => void) | undefined;
}

/**
 * Time that the network and the peers took for each step, in milliseconds; 0 for steps not reached. Processing time of
 * this process before, between and after the steps is not included.
 */
export interface ConnectionTimes {
  dnsMs: number;
  tcpMs: number;
  /** TLS to the proxy and the CONNECT exchange; 0 without a tunnel. */
  proxyMs: number;
  /** The plain-text exchange before TLS. */
  startTlsMs: number;
  tlsMs: number;
}

/** A connect, a query or a train of pings that has begun; with a proxy, the connect to the proxy. */
export interface ContactAttempt {
  readonly protocol: TransportProtocol;
  /** The target's name, also with a proxy. */
  readonly hostname: string;
  /** True if TLS is to follow. */
  readonly isSecure: boolean;
  /** The remote address. */
  readonly address: string;
  /** Remote port; 0 for pings, which have no ports. */
  readonly port: number;
  /** Local port; undefined once the connection is closed. */
  localPort(): number | undefined;
}
