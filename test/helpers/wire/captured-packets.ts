/** A captured TCP segment. */
export interface Segment {
  /** Epoch seconds. */
  readonly atSeconds: number;
  readonly source: string;
  readonly destination: string;
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** The flags that are set, as tcpdump writes them: S F R P and `.` for ACK. */
  readonly flags: string;
  /** Payload bytes on the wire, and the number of them in the file. */
  readonly payloadBytes: number;
  readonly keptBytes: number;
}

/** A captured ICMP error, with the ports of the segment that it quotes. */
export interface QuotedError {
  readonly source: string;
  readonly type: number;
  readonly code: number;
  readonly quotedPorts: readonly [number, number];
  readonly quotedBytes: number;
}

/** A captured UDP datagram. */
export interface Datagram {
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** The captured part of its payload. */
  readonly kept: Buffer;
  readonly payloadBytes: number;
}

/** A captured ICMP echo request or reply. */
export interface Echo {
  readonly destination: string;
  readonly type: number;
  readonly sequence: number;
  readonly payloadBytes: number;
  readonly keptBytes: number;
}

export interface PcapContent {
  readonly datagrams: readonly Datagram[];
  readonly echoes: readonly Echo[];
  readonly segments: readonly Segment[];
  readonly errors: readonly QuotedError[];
}

/**
 * Reads a nanosecond pcap of "Linux cooked" packets, independently of the code that writes it. Throws on any other
 * format.
 */
export function readPcap(file: Buffer): PcapContent {
  if (file.readUInt32LE(0) !== 0xa1b23c4d || file.readUInt32LE(20) !== 113) throw new Error('another format');
  const segments: Segment[] = [];
  const errors: QuotedError[] = [];
  const datagrams: Datagram[] = [];
  const echoes: Echo[] = [];
  for (let at = 24; at < file.length; ) {
    const kept = file.readUInt32LE(at + 8);
    const original = file.readUInt32LE(at + 12);
    const atSeconds = file.readUInt32LE(at) + file.readUInt32LE(at + 4) / 1e9;
    const record = file.subarray(at + 16, at + 16 + kept);
    if (record.length !== kept || original < kept) throw new Error('a record is cut');
    const packet = record.subarray(16);
    const ip = ipOf(packet);
    if (record.readUInt16BE(14) !== (ip.version === 4 ? 0x0800 : 0x86dd))
      throw new Error('a wrong ethertype');
    const inner = packet.subarray(ip.headerBytes);
    if (ip.protocol === 6) {
      const tcpBytes = (inner.readUInt8(12) >> 4) * 4;
      const flagBits = inner.readUInt8(13);
      segments.push({
        atSeconds,
        source: ip.source,
        destination: ip.destination,
        sourcePort: inner.readUInt16BE(0),
        destinationPort: inner.readUInt16BE(2),
        flags: [...'FSRP.'].filter((_letter, bit) => flagBits & (1 << bit)).join(''),
        payloadBytes: original - 16 - ip.headerBytes - tcpBytes,
        keptBytes: inner.length - tcpBytes,
      });
    } else if (ip.protocol === 17) {
      datagrams.push({
        sourcePort: inner.readUInt16BE(0),
        destinationPort: inner.readUInt16BE(2),
        kept: inner.subarray(8),
        payloadBytes: original - 16 - ip.headerBytes - 8,
      });
    } else if ([0, 8, 128, 129].includes(inner.readUInt8(0))) {
      echoes.push({
        destination: ip.destination,
        type: inner.readUInt8(0),
        sequence: inner.readUInt16BE(6),
        payloadBytes: original - 16 - ip.headerBytes - 8,
        keptBytes: inner.length - 8,
      });
    } else {
      const quoted = inner.subarray(8);
      const quotedIp = ipOf(quoted);
      const { headerBytes } = quotedIp;
      errors.push({
        source: ip.source,
        type: inner.readUInt8(0),
        code: inner.readUInt8(1),
        quotedPorts: [quoted.readUInt16BE(headerBytes), quoted.readUInt16BE(headerBytes + 2)],
        quotedBytes: quoted.length - headerBytes,
      });
    }
    at += 16 + kept;
  }
  return { segments, errors, datagrams, echoes };
}

function ipOf(packet: Buffer) {
  const version = packet.readUInt8(0) >> 4;
  if (version === 4) {
    return {
      version,
      headerBytes: (packet.readUInt8(0) & 15) * 4,
      protocol: packet.readUInt8(9),
      source: packet.subarray(12, 16).join('.'),
      destination: packet.subarray(16, 20).join('.'),
    };
  }
  if (version !== 6) throw new Error(`IP version ${version}`);
  const hex = (from: number) => packet.toString('hex', from, from + 16);
  return { version, headerBytes: 40, protocol: packet.readUInt8(6), source: hex(8), destination: hex(24) };
}
