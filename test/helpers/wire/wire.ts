import { readCapture, type WirePacket } from './pcap.ts';

/** Phases of one HTTP exchange on a separate connection, as seen on the wire, in milliseconds. */
export interface WirePhases {
  /** SYN to SYN-ACK. */
  readonly connect: number;
  /**
   * ClientHello to the last byte of the server's flight; for HTTP/2 without TLS, from our first byte to the server's
   * first.
   */
  readonly tls: number;
  /** Request to the first byte of the response. */
  readonly wait: number;
  /** First to last byte of the response. */
  readonly download: number;
  readonly total: number;
  /** Times of its parts, in milliseconds of the day: SYN, SYN-ACK, first and last byte of the response. */
  readonly atMs?: readonly [syn: number, synAck: number, first: number, last: number];
}

interface ExchangeOptions {
  /** Packets before the request: a TLS handshake, or HTTP/2 settings. */
  readonly before: 'nothing' | 'tls' | 'settings';
  readonly waitMs: number | null;
}

type TcpPacket = Extract<WirePacket, { protocol: 'tcp' }>;

/** Packets of one connection, seen from the client. */
interface Connection {
  synAtMs: number;
  synCount: number;
  synAckAtMs: number | undefined;
  /** Time at which the client ended the connection. */
  endedAtMs: number;
  /** The next expected sequence number of each side. */
  readonly sentTo: { ours?: number; theirs?: number };
  /** Packets with data in capture order, without retransmissions: a sender that waits for an ACK retransmits. */
  readonly data: { readonly isOurs: boolean; readonly atMs: number }[];
}

/**
 * The phases of all exchanges with a port, by the client's port.
 *
 * @param waitMs the time that the server waits before it responds: the response begins after a silence of about that
 *   length, so that TLS session tickets are not mistaken for it.
 * @returns null for exchanges that cannot be judged: a retransmitted SYN, an incomplete exchange, a port used twice.
 */
export async function readExchanges(
  path: string,
  options: ExchangeOptions & { readonly serverPort: number },
): Promise<Map<number, WirePhases | null>> {
  const connections = new Map<number, Connection>();
  const reused = new Set<number>();
  for await (const packet of readCapture(path)) {
    if (packet.protocol !== 'tcp') continue;
    const isOurs = packet.destinationPort === options.serverPort;
    if (!isOurs && packet.sourcePort !== options.serverPort) continue;
    const port = isOurs ? packet.sourcePort : packet.destinationPort;
    if (isOurs && packet.isSyn && connections.get(port)?.data.length) reused.add(port);
    addPacket(connections, port, packet, isOurs);
  }
  return new Map(
    [...connections].map(([port, connection]) => [
      port,
      reused.has(port) ? null : (phasesOf(connection, options) ?? null),
    ]),
  );
}

function addPacket(
  connections: Map<number, Connection>,
  port: number,
  { atMs, isSyn, isEnd, sequence, payloadBytes }: TcpPacket,
  isOurs: boolean,
): void {
  let connection = connections.get(port);
  if (!connection) {
    if (!isOurs || !isSyn) return;
    connection = {
      synAtMs: atMs,
      synCount: 0,
      synAckAtMs: undefined,
      endedAtMs: Number.POSITIVE_INFINITY,
      sentTo: {},
      data: [],
    };
    connections.set(port, connection);
  }
  if (isSyn && isOurs) connection.synCount += 1;
  else if (isSyn) connection.synAckAtMs ??= atMs;
  if (isEnd && isOurs) connection.endedAtMs = Math.min(connection.endedAtMs, atMs);
  if (payloadBytes === 0) return;
  const side = isOurs ? 'ours' : 'theirs';
  const { [side]: sentTo = sequence } = connection.sentTo;
  const endsAt = (sequence + payloadBytes) >>> 0;
  // Sequence numbers wrap around at 2^32.
  if (((endsAt - sentTo) | 0) <= 0) return;
  connection.sentTo[side] = endsAt;
  connection.data.push({ isOurs, atMs });
}

/** The server's timers may end a millisecond early. */
const timerSlackMs = 2;

function phasesOf(
  { synAtMs, synCount, synAckAtMs, endedAtMs, data }: Connection,
  { before, waitMs }: ExchangeOptions,
): WirePhases | undefined {
  if (synCount !== 1 || synAckAtMs === undefined) return undefined;
  if (waitMs === null) return handshakeOf(data, synAckAtMs - synAtMs);
  const waitedMs = waitMs - timerSlackMs;
  const request = data.findLast(({ isOurs, atMs }) => isOurs && hasAnswerAfter(atMs));
  if (!request) return undefined;
  const begin = data.findIndex(({ isOurs, atMs }) => !isOurs && atMs >= request.atMs + waitedMs);
  // Data that the server sends after we retransmitted something or ended the connection, such as a TLS close, is not
  // part of the response.
  const end = data.findIndex(({ isOurs, atMs }, index) => index > begin && (isOurs || atMs > endedAtMs));
  const first = data[begin];
  const last = data[(end === -1 ? data.length : end) - 1];
  if (!first || !last) return undefined;
  const tls = before === 'tls' ? tlsOf(data) : before === 'settings' ? settingsOf(data) : 0;
  if (tls === undefined) return undefined;
  const connect = synAckAtMs - synAtMs;
  const wait = first.atMs - request.atMs;
  const download = last.atMs - first.atMs;
  const total = connect + tls + wait + download;
  return { connect, tls, wait, download, total, atMs: [synAtMs, synAckAtMs, first.atMs, last.atMs] };

  /** Packets of ours after the response, such as a TLS close, are not a request. */
  function hasAnswerAfter(ourAtMs: number): boolean {
    return data.some(({ isOurs, atMs }) => !isOurs && atMs >= ourAtMs + waitedMs);
  }
}

/** Phases of a connection without a request. */
function handshakeOf(data: Connection['data'], connect: number): WirePhases | undefined {
  const tls = tlsOf(data);
  return tls === undefined ? undefined : { connect, tls, wait: 0, download: 0, total: connect + tls };
}

/** The server's flight is all it sends between our first and second packets with data. */
function tlsOf(data: Connection['data']): number | undefined {
  const [hello] = data;
  if (!hello?.isOurs) return undefined;
  const second = data.findIndex(({ isOurs }, index) => index > 0 && isOurs && !data[index - 1]?.isOurs);
  const flight = data[second - 1];
  return flight && !flight.isOurs ? flight.atMs - hello.atMs : undefined;
}

/** A server may send its settings before it has received ours. */
function settingsOf(data: Connection['data']): number | undefined {
  const ours = data.find(({ isOurs }) => isOurs);
  const theirs = data.find(({ isOurs }) => !isOurs);
  return ours && theirs ? Math.max(0, theirs.atMs - ours.atMs) : undefined;
}

/** Round trips of echo requests to a target, in the order they were sent; null for those without a reply. */
export async function readRoundTrips(path: string, target: string): Promise<(number | null)[]> {
  const open = new Map<string, { readonly place: number; readonly atMs: number }>();
  const roundTrips: (number | null)[] = [];
  for await (const packet of readCapture(path)) {
    if (packet.protocol !== 'icmp') continue;
    const key = `${packet.identifier}:${packet.sequence}`;
    if (packet.type === 8 && packet.destination === target) {
      open.set(key, { place: roundTrips.length, atMs: packet.atMs });
      roundTrips.push(null);
    } else if (packet.type === 0 && packet.source === target) {
      const request = open.get(key);
      if (request) roundTrips[request.place] = packet.atMs - request.atMs;
      open.delete(key);
    }
  }
  return roundTrips;
}
