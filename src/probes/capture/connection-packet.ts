import { encodeSocketAddress } from '../sys/socket-address.ts';
import type { CaptureScope } from './filter.ts';

/** A packet exchanged with the peer, according to its headers. */
export interface ConnectionPacket {
  /** Local port; 0 for pings, which have no port. */
  readonly localPort: number;
  /** Number of bytes of the packet that may be kept. */
  readonly keptBytes: number;
}

const protocolNumbers = {
  4: { tcp: 6, udp: 17, icmp: 1 },
  6: { tcp: 6, udp: 17, icmp: 58 },
} as const;
/** Types of echo replies and requests. */
const echoTypes: Readonly<Record<4 | 6, readonly number[]>> = { 4: [0, 8], 6: [128, 129] };
const quotedBytes = 8;
const icmpHeaderBytes = 8;
const udpHeaderBytes = 8;

/**
 * Parses the headers of a packet again: some packets were queued before the filter knew the local port, and a faulty
 * kernel filter must not let payload into a file.
 *
 * @returns undefined unless the packet was exchanged with that peer or is an ICMP error about such a packet.
 */
export function connectionPacket(data: Buffer, scope: CaptureScope): ConnectionPacket | undefined {
  const outer = ipHeader(data, 0);
  if (!outer || outer.family !== scope.family) return undefined;
  const numbers = protocolNumbers[scope.family];
  const number = numbers[scope.protocol];
  const peer = addressBytes(scope);
  const ends = { isToPeer: outer.destination.equals(peer), isFromPeer: outer.source.equals(peer) };
  const own = outer.protocol === number ? conversationPacket(data, outer.end, ends, scope) : undefined;
  if (own || outer.protocol !== numbers.icmp) return own;
  const quoted = ipHeader(data, outer.end + icmpHeaderBytes);
  if (!quoted || quoted.protocol !== number || !quoted.destination.equals(peer)) return undefined;
  if (data.length < quoted.end + 4) return undefined;
  const keptBytes = quoted.end + quotedBytes;
  if (scope.protocol === 'icmp') return { localPort: 0, keptBytes };
  if (data.readUInt16BE(quoted.end + 2) !== scope.port) return undefined;
  return { localPort: data.readUInt16BE(quoted.end), keptBytes };
}

function conversationPacket(
  data: Buffer,
  start: number,
  { isToPeer, isFromPeer }: { readonly isToPeer: boolean; readonly isFromPeer: boolean },
  { protocol, family, port, payloadBytes }: CaptureScope,
): ConnectionPacket | undefined {
  if (data.length < start + (protocol === 'tcp' ? 13 : 8)) return undefined;
  if (protocol === 'icmp') {
    const isEcho = echoTypes[family].includes(data.readUInt8(start));
    const isOurs = isEcho && (isToPeer || isFromPeer);
    return isOurs ? { localPort: 0, keptBytes: start + icmpHeaderBytes + payloadBytes } : undefined;
  }
  const sourcePort = data.readUInt16BE(start);
  const destinationPort = data.readUInt16BE(start + 2);
  const headerBytes = protocol === 'tcp' ? (data.readUInt8(start + 12) >> 4) * 4 : udpHeaderBytes;
  const keptBytes = start + headerBytes + payloadBytes;
  if (isToPeer && destinationPort === port) return { localPort: sourcePort, keptBytes };
  return isFromPeer && sourcePort === port ? { localPort: destinationPort, keptBytes } : undefined;
}

function ipHeader(data: Buffer, start: number) {
  if (data.length < start + 20) return undefined;
  const version = data.readUInt8(start) >> 4;
  if (version === 4) {
    return {
      family: 4,
      protocol: data.readUInt8(start + 9),
      source: data.subarray(start + 12, start + 16),
      destination: data.subarray(start + 16, start + 20),
      end: start + (data.readUInt8(start) & 0x0f) * 4,
    };
  }
  if (version !== 6 || data.length < start + 40) return undefined;
  return {
    family: 6,
    protocol: data.readUInt8(start + 6),
    source: data.subarray(start + 8, start + 24),
    destination: data.subarray(start + 24, start + 40),
    end: start + 40,
  };
}

function addressBytes({ address, family }: CaptureScope): Buffer {
  const encoded = encodeSocketAddress(address);
  return family === 6 ? encoded.subarray(8, 24) : encoded.subarray(4, 8);
}
