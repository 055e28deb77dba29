import type { Socket } from 'node:net';
import type { WantedFamily } from '../address.ts';
import type { TransportProtocol } from '../capture/filter.ts';
import type { ConnectionPolicy } from '../egress/policy.ts';
import type { Timekeeper } from '../kernel-thread/timekeeper.ts';
import type { Resolver } from '../resolver.ts';
import type { ForwardProxy } from './forward-proxy.ts';
import type { ClientIdentity } from './secure-contexts.ts';

/** Where a connection goes and how. */
export interface ConnectionTarget {
  readonly hostname: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** The name for TLS: sent as SNI, and the certificate has to be for it; the hostname when absent. */
  readonly serverName?: string | undefined;
  readonly family: WantedFamily;
  readonly isCertificateChecked: boolean;
  readonly clientIdentity: ClientIdentity | undefined;
  readonly proxy: ForwardProxy | undefined;
  /** Whether the proxy makes a tunnel for plain text, too: what follows is no HTTP that it could forward. */
  readonly isAlwaysTunnelled?: boolean | undefined;
  /** Protocols offered in the TLS handshake, the preferred one first. */
  readonly alpnProtocols: readonly string[];
  /** What is said in plain text before TLS; nothing when absent. */
  readonly upgrade?: Upgrade | undefined;
  /** Makes TLS with whatever the target still speaks, so that it can be looked at; see TlsInspection. */
  readonly inspection?: TlsInspection | undefined;
}

/** Asks the peer of a plain connection for what comes next: to go on in TLS, or for a connection to the target. */
export type Upgrade = (socket: Socket, exchange: UpgradeExchange) => void;

/** How an upgrade talks, so that each question and its answer can be timed. */
export interface UpgradeExchange {
  send(data: Buffer): void;
  /** To be called once: without an error the next byte of either side is of what comes next. */
  done(error: Error | null): void;
}

/**
 * A handshake that takes protocols, keys and signatures that are refused elsewhere, TLS 1.0 among them, and asks for a
 * stapled OCSP response.
 */
export interface TlsInspection {
  onStaple(response: Buffer): void;
}

/** What a connection needs besides its target. */
export interface ConnectionOptions {
  readonly resolver: Resolver;
  /** Asked for the very address that is connected to, right before. */
  readonly egress: ConnectionPolicy;
  /** Who says when things happened; the one of this thread when absent. */
  readonly timekeeper?: Timekeeper | undefined;
  /** Called with every connect that was begun, so that the connection can be watched on the wire. */
  readonly onAttempt?: ((attempt: ContactAttempt) => void) | undefined;
}

/**
 * What the network and the peers took for each step, in milliseconds; 0 for steps that were not reached. What
 * this process needed before, between and after them is in none.
 */
export interface ConnectionTimes {
  dnsMs: number;
  tcpMs: number;
  /** The TLS of the proxy and its answer to CONNECT; 0 without a tunnel. */
  proxyMs: number;
  /** What was said in plain text before TLS. */
  startTlsMs: number;
  tlsMs: number;
}

/** A connect, a query or a train of pings that was begun; through a proxy, that to the proxy. */
export interface ContactAttempt {
  readonly protocol: TransportProtocol;
  /** Whom it is for, also through a proxy. */
  readonly hostname: string;
  /** Whether TLS is meant to follow. */
  readonly isSecure: boolean;
  /** Where it goes. */
  readonly address: string;
  /** 0 for pings, which have none, on either side. */
  readonly port: number;
  /** This end's port; undefined once the connection is closed. */
  localPort(): number | undefined;
}
