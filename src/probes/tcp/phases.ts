import type { ConnectionTimes } from '../connection/connection.ts';

/** Milliseconds each step took; all but `total` add up to it. See docs/reference/checks.md for the exact borders. */
export interface TcpPhases {
  dns: number;
  connection: number;
  /** 0 without TLS. */
  tls: number;
  /** From what was sent, or the connection being ready, to the last byte that was read or to the peer's end. */
  data: number;
  total: number;
}

/** Phases of a conversation, each without what this process needed before it. */
export function tcpPhases({ dnsMs, tcpMs, tlsMs }: ConnectionTimes, dataMs: number): TcpPhases {
  return {
    dns: dnsMs,
    connection: tcpMs,
    tls: tlsMs,
    data: dataMs,
    total: dnsMs + tcpMs + tlsMs + dataMs,
  };
}
