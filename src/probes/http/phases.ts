import type { ConnectionTimes } from '../connection/target.ts';

/**
 * Duration of each step in milliseconds; `firstByte` includes `proxy`, `tls` and `auth`. docs/reference/checks.md
 * defines the exact boundaries.
 */
export interface HttpPhases {
  wait: number;
  dns: number;
  tcp: number;
  firstByte: number;
  download: number;
  total: number;
  tls: number;
  proxy: number;
  /** The requests of a login before the last one, which is part of `firstByte`; absent without them. */
  auth?: number;
}

/** A request that a server answered with a challenge of a login, on a connection that was open. */
export interface LoginLeg {
  readonly status: number;
  /** From the departure of the request to the first byte of the challenge. */
  readonly waitMs: number;
  readonly downloadMs: number;
}

/** Milliseconds from the start to the end of each step. */
export interface HttpTimings {
  socket: number;
  lookup: number;
  connect: number;
  response: number;
  end: number;
}

/** Duration of the steps of one request in a chain, in milliseconds. */
export interface HopTimes {
  readonly connection: ConnectionTimes;
  /**
   * From the departure of the request to the first byte of the final response (ignoring informational 1xx responses).
   */
  readonly waitMs: number;
  readonly downloadMs: number;
  /** The requests of a login before this one, on the same connection. */
  readonly legs?: readonly LoginLeg[];
}

/**
 * Phases of a chain of requests: each is the sum over the chain, and together they add up to `total`. `wait`, the time
 * before the lookup, would be this process's alone, which is not part of any phase.
 */
export function sumPhases(hops: readonly HopTimes[]): HttpPhases {
  const phases: HttpPhases = {
    wait: 0,
    dns: 0,
    tcp: 0,
    firstByte: 0,
    download: 0,
    total: 0,
    tls: 0,
    proxy: 0,
  };
  for (const { connection, waitMs, downloadMs, legs = [] } of hops) {
    phases.dns += connection.dnsMs;
    phases.tcp += connection.tcpMs;
    phases.proxy += connection.proxyMs;
    phases.tls += connection.tlsMs;
    phases.firstByte += connection.proxyMs + connection.tlsMs + waitMs;
    phases.download += downloadMs;
    if (legs.length === 0) continue;
    const loginMs = legs.reduce((sum, leg) => sum + leg.waitMs + leg.downloadMs, 0);
    phases.auth = (phases.auth ?? 0) + loginMs;
    phases.firstByte += loginMs;
  }
  phases.total = phases.dns + phases.tcp + phases.firstByte + phases.download;
  return phases;
}

/** The same times as offsets: each is the end of its phase (wait, dns, tcp, firstByte, download). */
export function timingsOf(phases: HttpPhases): HttpTimings {
  const socket = phases.wait;
  const lookup = socket + phases.dns;
  const connect = lookup + phases.tcp;
  const response = connect + phases.firstByte;
  return { socket, lookup, connect, response, end: response + phases.download };
}
