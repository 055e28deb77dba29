import { readCapture, type WirePacket } from './pcap.ts';

/** The exchange between us and one port of a target, whichever side began. */
export interface WireTurns {
  /** SYN to SYN-ACK, in milliseconds; 0 without a connection. */
  readonly connect: number;
  /**
   * Duration of each message of the target: from the SYN-ACK, or from our last packet before it, to the last packet of
   * the message. The end of its side is a message, too.
   */
  readonly turns: readonly number[];
}

interface Spoken {
  synAtMs: number;
  readyAtMs: number;
  hasRepeatedSyn: boolean;
  readonly said: { readonly isOurs: boolean; readonly atMs: number }[];
  readonly sentTo: { ours?: number; theirs?: number };
}

/**
 * Exchanges with a target in a capture, by the target's port. The last of several connections to a port counts, as for
 * a retried run. Null if a SYN was retransmitted.
 */
export async function readTurns(path: string, target: string): Promise<Map<number, WireTurns | null>> {
  const byPort = new Map<number, Spoken>();
  for await (const packet of readCapture(path)) {
    if (packet.protocol === 'icmp') continue;
    const isOurs = packet.destination === target;
    const port = isOurs ? packet.destinationPort : packet.sourcePort;
    const begun = byPort.get(port);
    if (packet.protocol === 'udp') {
      const spoken = begun ?? newSpoken(packet.atMs);
      byPort.set(port, spoken);
      // A retransmission, or a retried run, starts over.
      if (isOurs) spoken.said.length = 0;
      spoken.said.push({ isOurs, atMs: packet.atMs });
    } else if (isOurs && packet.isSyn) {
      const isRepeated = begun !== undefined && begun.readyAtMs === 0;
      byPort.set(port, { ...newSpoken(packet.atMs), hasRepeatedSyn: isRepeated });
    } else if (begun) note(begun, packet, isOurs);
  }
  return new Map([...byPort].map(([port, spoken]) => [port, spoken.hasRepeatedSyn ? null : turnsOf(spoken)]));
}

function newSpoken(atMs: number): Spoken {
  return { synAtMs: atMs, readyAtMs: 0, hasRepeatedSyn: false, said: [], sentTo: {} };
}

function note(
  spoken: Spoken,
  { atMs, isSyn, isEnd, sequence, payloadBytes }: Extract<WirePacket, { protocol: 'tcp' }>,
  isOurs: boolean,
): void {
  if (isSyn) spoken.readyAtMs ||= atMs;
  else if (payloadBytes > 0 || (isEnd && !isOurs)) {
    const side = isOurs ? 'ours' : 'theirs';
    const endsAt = (sequence + payloadBytes + (isEnd ? 1 : 0)) >>> 0;
    const { [side]: sentTo = sequence } = spoken.sentTo;
    // A sender that waits for an ACK retransmits; sequence numbers wrap around at 2^32.
    if (((endsAt - sentTo) | 0) <= 0) return;
    spoken.sentTo[side] = endsAt;
    spoken.said.push({ isOurs, atMs });
  }
}

function turnsOf({ synAtMs, readyAtMs, said }: Spoken): WireTurns {
  const turns: number[] = [];
  let sinceMs = readyAtMs;
  for (const [index, { isOurs, atMs }] of said.entries()) {
    if (isOurs) sinceMs = atMs;
    else if (said[index + 1]?.isOurs !== false) turns.push(atMs - sinceMs);
  }
  return { connect: readyAtMs === 0 ? 0 : readyAtMs - synAtMs, turns };
}
