import type { IpFamily } from '../../address.ts';

export const echoHeaderBytes = 8;
/** Length of the random token at the start of the data, which matches a reply to its request. */
export const tokenBytes = 8;

const requestTypes = { 4: 8, 6: 128 } as const;
const replyTypes = { 4: 0, 6: 129 } as const;

/** ICMP type of an echo request. */
export const echoRequestType = (family: IpFamily): number => requestTypes[family];
/** ICMP type of an echo reply. */
export const echoReplyType = (family: IpFamily): number => replyTypes[family];

/**
 * Builds an echo request (RFC 792, RFC 4443): type, code, checksum, identifier, sequence, data. Data after the token
 * counts up, so that it is recognisable in a capture.
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
  numberEchoRequest(packet, sequence, token);
  // The kernel computes ICMPv6 checksums; for ICMP it does so only on datagram sockets.
  if (family === 4) sumEchoRequest(packet);
  return packet;
}

/** Renumbers an echo request; the checksum is not updated. @param tokenAt where its token begins. */
export function numberEchoRequest(packet: Buffer, sequence: number, tokens: Buffer, tokenAt = 0): void {
  packet[6] = sequence >> 8;
  packet[7] = sequence & 0xff;
  const count = Math.min(tokenBytes, packet.length - echoHeaderBytes);
  for (let index = 0; index < count; index += 1) {
    packet[echoHeaderBytes + index] = tokens[tokenAt + index] ?? 0;
  }
}

/** Sets the checksum of an IPv4 echo request. */
export function sumEchoRequest(packet: Buffer): void {
  packet.writeUInt16BE(0, 2);
  packet.writeUInt16BE(internetChecksum(packet), 2);
}

/** Computes the checksum of RFC 1071; the checksum field in the bytes must be 0. */
export function internetChecksum(bytes: Buffer): number {
  let sum = 0;
  for (let index = 0; index + 1 < bytes.length; index += 2) sum += bytes.readUInt16BE(index);
  if (bytes.length % 2 === 1) sum += bytes.readUInt8(bytes.length - 1) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
