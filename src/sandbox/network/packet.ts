import ipaddr from 'ipaddr.js';

/** The addressing fields of a packet. */
export interface Packet {
  readonly family: 4 | 6;
  readonly protocol: 'tcp' | 'udp';
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly destinationPort: number;
  /** Only for UDP. */
  readonly payload: Buffer;
}

const protocols: Readonly<Record<number, Packet['protocol']>> = { 6: 'tcp', 17: 'udp' };
const udpNumber = 17;
const udpHeaderBytes = 8;
const timeToLive = 64;

/** Parses a packet from its IP header on; undefined unless it is TCP or UDP. */
export function readPacket(bytes: Buffer): Packet | undefined {
  const family = (bytes[0] ?? 0) >> 4;
  if (family === 4 && bytes.length >= 20) {
    const start = ((bytes[0] ?? 0) & 15) * 4;
    return readPorts(bytes, 4, bytes[9] ?? 0, start, bytes.subarray(12, 16), bytes.subarray(16, 20));
  }
  if (family === 6 && bytes.length >= 40) {
    // Unprivileged programs cannot send extension headers: packets with them are not recognised.
    return readPorts(bytes, 6, bytes[6] ?? 0, 40, bytes.subarray(8, 24), bytes.subarray(24, 40));
  }
  return undefined;
}

function readPorts(
  bytes: Buffer,
  family: 4 | 6,
  number: number,
  start: number,
  source: Buffer,
  destination: Buffer,
): Packet | undefined {
  const protocol = protocols[number];
  if (!protocol || bytes.length < start + udpHeaderBytes) return undefined;
  return {
    family,
    protocol,
    source: addressText(source),
    sourcePort: bytes.readUInt16BE(start),
    destination: addressText(destination),
    destinationPort: bytes.readUInt16BE(start + 2),
    payload: protocol === 'udp' ? bytes.subarray(start + udpHeaderBytes) : Buffer.alloc(0),
  };
}

/** Formats an address as Node does. */
function addressText(bytes: Buffer): string {
  return ipaddr.fromByteArray([...bytes]).toString();
}

/** The bytes of an address, without its zone. */
export function addressBytes(text: string): Buffer {
  return Buffer.from(ipaddr.parse(text.split('%', 1)[0] ?? '').toByteArray());
}

/** Builds a datagram from its IP header on. */
export function datagram(parts: {
  readonly family: 4 | 6;
  readonly source: Buffer;
  readonly sourcePort: number;
  readonly destination: Buffer;
  readonly destinationPort: number;
  readonly payload: Buffer;
}): Buffer {
  const { family, source, destination, payload } = parts;
  const udp = Buffer.alloc(udpHeaderBytes);
  const udpBytes = udpHeaderBytes + payload.length;
  udp.writeUInt16BE(parts.sourcePort);
  udp.writeUInt16BE(parts.destinationPort, 2);
  udp.writeUInt16BE(udpBytes, 4);
  const pseudo = Buffer.alloc(8);
  pseudo.writeUInt32BE(udpBytes);
  pseudo.writeUInt32BE(udpNumber, 4);
  const sum = checksum(Buffer.concat([source, destination, pseudo, udp, payload]));
  udp.writeUInt16BE(sum === 0 ? 0xffff : sum, 6);
  const ip =
    family === 4 ? ipv4Header(source, destination, udpBytes) : ipv6Header(source, destination, udpBytes);
  return Buffer.concat([ip, udp, payload]);
}

function ipv4Header(source: Buffer, destination: Buffer, contentBytes: number): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt8(0x45);
  header.writeUInt16BE(20 + contentBytes, 2);
  header.writeUInt8(timeToLive, 8);
  header.writeUInt8(udpNumber, 9);
  source.copy(header, 12);
  destination.copy(header, 16);
  header.writeUInt16BE(checksum(header), 10);
  return header;
}

function ipv6Header(source: Buffer, destination: Buffer, contentBytes: number): Buffer {
  const header = Buffer.alloc(40);
  header.writeUInt8(0x60);
  header.writeUInt16BE(contentBytes, 4);
  header.writeUInt8(udpNumber, 6);
  header.writeUInt8(timeToLive, 7);
  source.copy(header, 8);
  destination.copy(header, 24);
  return header;
}

/** The Internet checksum (RFC 1071). */
function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  if (bytes.length % 2 === 1) sum += (bytes.at(-1) ?? 0) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x10000);
  return ~sum & 0xffff;
}
