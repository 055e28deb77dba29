import { encodeSocketAddress } from '../sys/socket-address.ts';
import type { CaptureScope } from './filter.ts';

/** A packet of a connection to the peer, as far as its headers tell. */
export interface ConnectionPacket {
  /** This end's port. */
  readonly localPort: number;
  /** How much of the packet may be kept, in bytes. */
  readonly keptBytes: number;
}

const tcp = 6;
const quotedTcpBytes = 8;
const icmpHeaderBytes = 8;

/**
 * Reads the headers of a packet again, because some wait in a socket since before its filter knew this end's
 * port, and so that nothing but headers can reach a file even if a filter of the kernel were at fault.
 *
 * @returns undefined when the packet is none of a connection to that peer, nor an ICMP error about one.
 */
export function connectionPacket(data: Buffer, scope: CaptureScope): ConnectionPacket | undefined {
  const outer = ipHeader(data, 0);
  if (!outer || outer.family !== scope.family) return undefined;
  const peer = addressBytes(scope);
  if (outer.protocol === tcp) {
    if (data.length < outer.end + 13) return undefined;
    const sourcePort = data.readUInt16BE(outer.end);
    const destinationPort = data.readUInt16BE(outer.end + 2);
    const keptBytes = outer.end + (data.readUInt8(outer.end + 12) >> 4) * 4 + scope.payloadBytes;
    if (outer.destination.equals(peer) && destinationPort === scope.port) {
      return { localPort: sourcePort, keptBytes };
    }
    return outer.source.equals(peer) && sourcePort === scope.port
      ? { localPort: destinationPort, keptBytes }
      : undefined;
  }
  if (outer.protocol !== (scope.family === 4 ? 1 : 58)) return undefined;
  const quoted = ipHeader(data, outer.end + icmpHeaderBytes);
  if (!quoted || quoted.protocol !== tcp || !quoted.destination.equals(peer)) return undefined;
  if (data.length < quoted.end + 4 || data.readUInt16BE(quoted.end + 2) !== scope.port) return undefined;
  return { localPort: data.readUInt16BE(quoted.end), keptBytes: quoted.end + quotedTcpBytes };
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
