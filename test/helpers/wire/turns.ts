import { readCapture, type WirePacket } from './pcap.ts';

/** What was said between us and one port of a target, whoever began. */
export interface WireTurns {
  /** SYN to SYN-ACK, in milliseconds; 0 without a connection. */
  readonly connect: number;
  /**
   * How long the target took for each thing it said: from the SYN-ACK, or from the last packet of ours before it, to the
   * last packet of what it said. The end of its side is something it says.
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
 * What a capture holds of conversations with a target, by the target's port. Of several connections to one port the
 * last counts: a run that is repeated reports that. Null where a SYN was sent again.
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
      // What is sent again, or by a run that is repeated, begins anew.
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
    // A sender that waits for an ACK sends again; sequence numbers begin again after 2^32.
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
