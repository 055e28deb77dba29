import { canonicalAddress } from '@picket/lib/wire/canonical-address.ts';
import { AF_INET, AF_INET6 } from './linux.ts';

export const maxSocketAddressBytes = 28;

/**
 * Encodes a `struct sockaddr_in` or `sockaddr_in6` with port 0.
 *
 * @param address an IPv4 or IPv6 address without a zone.
 * @param scopeId the interface index of a link-local IPv6 address, 0 otherwise.
 */
export function encodeSocketAddress(address: string, scopeId = 0): Buffer {
  if (!address.includes(':')) {
    const encoded = Buffer.alloc(16);
    encoded.writeUInt16LE(AF_INET, 0);
    encoded.set(ipv4Bytes(address), 4);
    return encoded;
  }
  const encoded = Buffer.alloc(maxSocketAddressBytes);
  encoded.writeUInt16LE(AF_INET6, 0);
  encoded.set(ipv6Bytes(address), 8);
  encoded.writeUInt32LE(scopeId, 24);
  return encoded;
}

/**
 * Decodes the address in a `struct sockaddr`; undefined if it contains no address. IPv6 addresses are in the short form
 * of `canonicalAddress`.
 */
export function decodeSocketAddress(encoded: Buffer): string | undefined {
  if (encoded.length < 8) return undefined;
  const family = encoded.readUInt16LE(0);
  if (family === AF_INET) {
    return `${encoded[4]}.${encoded[5]}.${encoded[6]}.${encoded[7]}`;
  }
  if (family !== AF_INET6 || encoded.length < 24) return undefined;
  const groups = Array.from({ length: 8 }, (_, index) => encoded.readUInt16BE(8 + 2 * index).toString(16));
  return canonicalAddress(groups.join(':'));
}

function ipv4Bytes(address: string): number[] {
  return address.split('.').map(Number);
}

function ipv6Bytes(address: string): number[] {
  const [head = '', tail] = canonicalAddress(address).split('::');
  const left = groupsOf(head);
  const right = groupsOf(tail ?? '');
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => 0);
  return [...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 0xff]);
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}
