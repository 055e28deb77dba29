import type { IpFamily } from '../../address.ts';

export const echoHeaderBytes = 8;
/** Random bytes at the start of the data, by which a reply is known to be the answer to one request. */
export const tokenBytes = 8;

const requestTypes = { 4: 8, 6: 128 } as const;
const replyTypes = { 4: 0, 6: 129 } as const;

/** ICMP type of an echo request. */
export const echoRequestType = (family: IpFamily): number => requestTypes[family];
/** ICMP type of an echo reply. */
export const echoReplyType = (family: IpFamily): number => replyTypes[family];

/**
 * An echo request (RFC 792, RFC 4443): type, code, checksum, identifier, sequence, data. Data beyond the
 * token counts up, so that a capture shows it is ours.
 */
export function echoRequest(options: {
  readonly family: IpFamily;
  readonly identifier: number;
  readonly sequence: number;
  readonly token: Buffer;
  readonly dataBytes: number;
}): Buffer {
  const { family, identifier, sequence, token, dataBytes } = options;
  const packet = Buffer.allocUnsafe(echoHeaderBytes + dataBytes);
  packet.writeUInt8(echoRequestType(family), 0);
  packet.writeUInt8(0, 1);
  packet.writeUInt16BE(0, 2);
  packet.writeUInt16BE(identifier, 4);
  for (let index = tokenBytes; index < dataBytes; index += 1) {
    packet[echoHeaderBytes + index] = index & 0xff;
  }
  numberEchoRequest(packet, { sequence, token });
  // The kernel fills in ICMPv6 checksums; for ICMP it does so on datagram sockets only.
  if (family === 4) sumEchoRequest(packet);
  return packet;
}

/** Makes an echo request the next one, but for its checksum. */
export function numberEchoRequest(
  packet: Buffer,
  { sequence, token }: { readonly sequence: number; readonly token: Buffer },
): void {
  packet.writeUInt16BE(sequence, 6);
  packet.set(token.subarray(0, packet.length - echoHeaderBytes), echoHeaderBytes);
}

/** Sets the checksum of an echo request of IPv4. */
export function sumEchoRequest(packet: Buffer): void {
  packet.writeUInt16BE(0, 2);
  packet.writeUInt16BE(internetChecksum(packet), 2);
}

/** The checksum of RFC 1071, over bytes whose own checksum field is 0. */
export function internetChecksum(bytes: Buffer): number {
  let sum = 0;
  for (let index = 0; index + 1 < bytes.length; index += 2) sum += bytes.readUInt16BE(index);
  if (bytes.length % 2 === 1) sum += bytes.readUInt8(bytes.length - 1) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
