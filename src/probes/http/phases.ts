import type { ConnectionTimes } from '../connection/target.ts';

/**
 * Milliseconds each step took; `firstByte` holds `proxy` and `tls`. See docs/reference/checks.md for the
 * exact borders.
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
}

/** Milliseconds since the start at which each step was done. */
export interface HttpTimings {
  socket: number;
  lookup: number;
  connect: number;
  response: number;
  end: number;
}

/** What the steps of one request of a chain took, in milliseconds. */
export interface HopTimes {
  readonly connection: ConnectionTimes;
  /**
   * From the request having left to the first byte of the final response (informational 1xx ones do not
   * count).
   */
  readonly waitMs: number;
  readonly downloadMs: number;
}

/**
 * Phases of a chain of requests: each the sum over the chain, and their own sum is `total`. `wait`, the time
 * before the lookup, would be this process's alone, and that is no part of any phase.
 */
export function sumPhases(hops: readonly HopTimes[]): HttpPhases {
  const phases = { wait: 0, dns: 0, tcp: 0, firstByte: 0, download: 0, total: 0, tls: 0, proxy: 0 };
  for (const { connection, waitMs, downloadMs } of hops) {
    phases.dns += connection.dnsMs;
    phases.tcp += connection.tcpMs;
    phases.proxy += connection.proxyMs;
    phases.tls += connection.tlsMs;
    phases.firstByte += connection.proxyMs + connection.tlsMs + waitMs;
    phases.download += downloadMs;
  }
  phases.total = phases.dns + phases.tcp + phases.firstByte + phases.download;
  return phases;
}

/** The same times as points on one line: each the end of its phase (wait, dns, tcp, firstByte, download). */
export function timingsOf(phases: HttpPhases): HttpTimings {
  const socket = phases.wait;
  const lookup = socket + phases.dns;
  const connect = lookup + phases.tcp;
  const response = connect + phases.firstByte;
  return { socket, lookup, connect, response, end: response + phases.download };
}
