import type { KernelTime } from '../sys/kernel-clock.ts';

/** A packet as the kernel delivered it, from its IP header on. */
export interface CapturedPacket {
  readonly receivedAt: KernelTime;
  readonly data: Buffer;
  /** Length on the wire, in bytes, before truncation. */
  readonly originalBytes: number;
  /** Link-layer metadata; see `struct sockaddr_ll`. */
  readonly link: LinkFacts;
}

export interface LinkFacts {
  /** 0 to 4: to this host, broadcast, multicast, to another host, sent by this host. */
  readonly packetType: number;
  /** ARPHRD number of the device. */
  readonly deviceType: number;
  readonly addressBytes: number;
  /** Link-layer address of the sender, in eight bytes. */
  readonly address: Buffer;
  /** Ethertype. */
  readonly protocol: number;
}

/** Magic number of files with nanosecond timestamps. */
const magic = 0xa1b23c4d;
/** LINKTYPE_LINUX_SLL: packets of any device, each with its direction. */
const linkType = 113;
const linkHeaderBytes = 16;
const snapBytes = 65_535;

/** Builds a file in libpcap format, which Wireshark and tcpdump read. */
export function pcapFile(packets: readonly CapturedPacket[]): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(magic, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(snapBytes, 16);
  header.writeUInt32LE(linkType, 20);
  return Buffer.concat([header, ...packets.flatMap((packet) => [recordHeader(packet), packet.data])]);
}

/** Bytes that a packet occupies in the file. */
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
