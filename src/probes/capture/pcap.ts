import type { KernelTime } from '../sys/kernel-clock.ts';

/** A packet as the kernel handed it over, from its IP header on. */
export interface CapturedPacket {
  readonly receivedAt: KernelTime;
  readonly data: Buffer;
  /** How long it was on the wire, in bytes, before it was cut. */
  readonly originalBytes: number;
  /** What the link knows of it; see `struct sockaddr_ll`. */
  readonly link: LinkFacts;
}

export interface LinkFacts {
  /** To this host, broadcast, multicast, to another host, or sent by this host: 0 to 4. */
  readonly packetType: number;
  /** ARPHRD number of the device. */
  readonly deviceType: number;
  readonly addressBytes: number;
  /** Link-layer address of the sender, in eight bytes. */
  readonly address: Buffer;
  /** Ethertype. */
  readonly protocol: number;
}

/** Times are in nanoseconds. */
const magic = 0xa1b23c4d;
/** LINKTYPE_LINUX_SLL: packets of any device, each with its direction. */
const linkType = 113;
const linkHeaderBytes = 16;
const snapBytes = 65_535;

/** A file in the format of libpcap, which Wireshark and tcpdump read. */
export function pcapFile(packets: readonly CapturedPacket[]): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(magic, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(snapBytes, 16);
  header.writeUInt32LE(linkType, 20);
  return Buffer.concat([header, ...packets.flatMap((packet) => [recordHeader(packet), packet.data])]);
}

/** Bytes that a packet takes in the file. */
export function recordBytes({ data }: CapturedPacket): number {
  return recordHeaderBytes + data.length;
}

const recordHeaderBytes = 16 + linkHeaderBytes;

function recordHeader({ receivedAt, data, originalBytes, link }: CapturedPacket): Buffer {
  const header = Buffer.alloc(recordHeaderBytes);
  header.writeUInt32LE(receivedAt.seconds >>> 0, 0);
  header.writeUInt32LE(receivedAt.nanoseconds, 4);
  header.writeUInt32LE(linkHeaderBytes + data.length, 8);
  header.writeUInt32LE(linkHeaderBytes + Math.max(originalBytes, data.length), 12);
  header.writeUInt16BE(link.packetType, 16);
  header.writeUInt16BE(link.deviceType, 18);
  header.writeUInt16BE(link.addressBytes, 20);
  link.address.copy(header, 22, 0, 8);
  header.writeUInt16BE(link.protocol, 30);
  return header;
}
