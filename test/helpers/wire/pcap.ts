import { createReadStream } from 'node:fs';

/** A captured IPv4 packet of TCP or ICMP. Times are milliseconds since the start of the day of the capture. */
export type WirePacket = { readonly atMs: number; readonly source: string; readonly destination: string } & (
  | {
      readonly protocol: 'tcp';
      readonly sourcePort: number;
      readonly destinationPort: number;
      readonly isSyn: boolean;
      readonly isAck: boolean;
      /** FIN or RST. */
      readonly isEnd: boolean;
      /** Sequence number of the first byte of the payload. */
      readonly sequence: number;
      readonly payloadBytes: number;
    }
  | {
      readonly protocol: 'udp';
      readonly sourcePort: number;
      readonly destinationPort: number;
    }
  | {
      readonly protocol: 'icmp';
      readonly type: number;
      readonly identifier: number;
      readonly sequence: number;
    }
);

const globalHeaderBytes = 24;
const recordHeaderBytes = 16;
const ethernetHeaderBytes = 14;
const nanosecondMagic = 0xa1b23c4d;
const secondsPerDay = 86_400;

/**
 * Reads a capture that `tcpdump --time-stamp-precision=nano` wrote on an Ethernet link of this host. Times have a
 * resolution of about 10 ns, the limit of a double for milliseconds within a day.
 */
export async function* readCapture(path: string): AsyncGenerator<WirePacket> {
  let pending = Buffer.alloc(0);
  let isHeaderRead = false;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    pending = Buffer.concat([pending, chunk as Buffer]);
    let offset = 0;
    if (!isHeaderRead) {
      if (pending.length < globalHeaderBytes) continue;
      if (pending.readUInt32LE(0) !== nanosecondMagic) throw new Error(`${path} has no nanosecond stamps`);
      if (pending.readUInt32LE(20) !== 1) throw new Error(`${path} is not of an Ethernet link`);
      offset = globalHeaderBytes;
      isHeaderRead = true;
    }
    while (pending.length >= offset + recordHeaderBytes) {
      const sizeBytes = pending.readUInt32LE(offset + 8);
      const start = offset + recordHeaderBytes;
      if (pending.length < start + sizeBytes) break;
      const seconds = pending.readUInt32LE(offset) % secondsPerDay;
      const atMs = seconds * 1000 + pending.readUInt32LE(offset + 4) / 1e6;
      const packet = readPacket(pending.subarray(start + ethernetHeaderBytes, start + sizeBytes), atMs);
      if (packet) yield packet;
      offset = start + sizeBytes;
    }
    pending = pending.subarray(offset);
  }
}

function readPacket(ip: Buffer, atMs: number): WirePacket | undefined {
  if (ip.length < 28 || ip.readUInt8(0) >> 4 !== 4) return undefined;
  const headerBytes = (ip.readUInt8(0) & 0x0f) * 4;
  const from = {
    atMs,
    source: ip.subarray(12, 16).join('.'),
    destination: ip.subarray(16, 20).join('.'),
  };
  const rest = ip.subarray(headerBytes);
  if (ip.readUInt8(9) === 1) {
    return {
      ...from,
      protocol: 'icmp',
      type: rest.readUInt8(0),
      identifier: rest.readUInt16BE(4),
      sequence: rest.readUInt16BE(6),
    };
  }
  if (ip.readUInt8(9) === 17) {
    return {
      ...from,
      protocol: 'udp',
      sourcePort: rest.readUInt16BE(0),
      destinationPort: rest.readUInt16BE(2),
    };
  }
  if (ip.readUInt8(9) !== 6 || rest.length < 20) return undefined;
  const flags = rest.readUInt8(13);
  return {
    ...from,
    protocol: 'tcp',
    sourcePort: rest.readUInt16BE(0),
    destinationPort: rest.readUInt16BE(2),
    isSyn: (flags & 0x02) !== 0,
    isAck: (flags & 0x10) !== 0,
    isEnd: (flags & 0x05) !== 0,
    sequence: rest.readUInt32BE(4),
    payloadBytes: ip.readUInt16BE(2) - headerBytes - (rest.readUInt8(12) >> 4) * 4,
  };
}
