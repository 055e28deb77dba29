import type { ConnectionMarks } from '../connection/connection.ts';

/** Milliseconds each step took; `firstByte` holds `proxy` and `tls`. See docs/checks.md for the exact borders. */
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

/** Instants of one request of a chain, all from `performance.now()`. */
export interface HopMarks {
  readonly start: number;
  readonly connection: ConnectionMarks;
  /** First byte of the final response (informational 1xx responses do not count). */
  readonly firstByte: number;
  readonly end: number;
}

/** Phases of a chain of requests: each the sum over the chain, so that they add up to `total`. */
export function sumPhases(hops: readonly HopMarks[]): HttpPhases {
  const phases = { wait: 0, dns: 0, tcp: 0, firstByte: 0, download: 0, total: 0, tls: 0, proxy: 0 };
  for (const { start, connection, firstByte, end } of hops) {
    phases.wait += connection.resolveStart - start;
    phases.dns += connection.resolved - connection.resolveStart;
    phases.tcp += connection.connected - connection.resolved;
    phases.proxy += connection.proxyDone - connection.connected;
    phases.tls += connection.secured - connection.proxyDone;
    phases.firstByte += firstByte - connection.connected;
    phases.download += end - firstByte;
    phases.total += end - start;
  }
  return phases;
}

/** The same times as points on one line: each the end of its phase (wait, dns, tcp, firstByte, download). */
export function timingsOf(phases: HttpPhases): HttpTimings {
  const socket = phases.wait;
  const lookup = socket + phases.dns;
  const connect = lookup + phases.tcp;
  const response = connect + phases.firstByte;
  return { socket, lookup, connect, response, end: phases.total };
}
