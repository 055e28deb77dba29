import type { ConnectionMarks } from '../connection/connection.ts';

/** Milliseconds each step took; all but `total` follow each other without a gap and add up to it. */
export interface TcpPhases {
  dns: number;
  connection: number;
  /** 0 without TLS. */
  tls: number;
  /** From the connection being ready to the last byte that was read, or to the peer's end when there was none. */
  data: number;
  total: number;
}

/**
 * Phases from the instants of a conversation, all from `performance.now()`.
 *
 * @param startMs when the probe began; what passes before the name lookup counts as part of it.
 */
export function tcpPhases(startMs: number, marks: ConnectionMarks, endMs: number): TcpPhases {
  return {
    dns: marks.resolved - startMs,
    connection: marks.connected - marks.resolved,
    tls: marks.secured - marks.connected,
    data: endMs - marks.secured,
    total: endMs - startMs,
  };
}
