import { canonicalAddress } from '@picket/lib/wire/canonical-address.ts';
import type { IpFamily } from '../../address.ts';
import { echoHeaderBytes, echoReplyType, echoRequestType, tokenBytes } from '../echo/packet.ts';

/** The echo request that a message answers or reports. */
interface EchoIdentity {
  readonly identifier: number;
  readonly sequence: number;
  /** The part of the token that was returned. */
  readonly token: Buffer;
}

/** A message of a raw ICMP socket that may concern an echo request. */
export type RawMessage = EchoIdentity & { readonly type: number; readonly code: number } & (
    | { readonly kind: 'reply'; readonly ttl: number | null }
    | {
        readonly kind: 'error';
        /** Destination of the request. */
        readonly target: string;
        readonly mtuBytes: number | null;
      }
  );

/** Errors that end a request: RFC 792 (unreachable, time exceeded, parameter problem), RFC 4443. */
const errorTypes: Readonly<Record<IpFamily, readonly number[]>> = { 4: [3, 11, 12], 6: [1, 2, 3, 4] };

/** Message types that a socket must deliver. */
export const wantedTypes = (family: IpFamily): readonly number[] => [
  echoReplyType(family),
  ...errorTypes[family],
];

/**
 * Parses a message as raw sockets deliver it: with the IP header over IPv4, without it over IPv6 (RFC 3542).
 *
 * @returns undefined for messages that concern no echo request, and for truncated ones.
 */
export function readRawMessage(family: IpFamily, packet: Buffer): RawMessage | undefined {
  const ip = family === 4 ? readIpv4Header(packet) : { ttl: null, rest: packet };
  if (!ip || ip.rest.length < echoHeaderBytes) return undefined;
  const icmp = ip.rest;
  const about = { type: icmp.readUInt8(0), code: icmp.readUInt8(1) };
  if (about.type === echoReplyType(family)) {
    return { kind: 'reply', ttl: ip.ttl, ...about, ...readEcho(icmp) };
  }
  if (!errorTypes[family].includes(about.type)) return undefined;
  // An error quotes the beginning of the original packet.
  const quoted = icmp.subarray(echoHeaderBytes);
  const original = family === 4 ? readIpv4Header(quoted) : readIpv6Headers(quoted);
  if (!original || original.rest.length < echoHeaderBytes) return undefined;
  if (original.rest.readUInt8(0) !== echoRequestType(family)) return undefined;
  return {
    kind: 'error',
    target: original.target,
    mtuBytes: mtuIn(family, icmp),
    ...about,
    ...readEcho(original.rest),
  };
}

function readEcho(icmp: Buffer): EchoIdentity {
  return {
    identifier: icmp.readUInt16BE(4),
    sequence: icmp.readUInt16BE(6),
    token: Buffer.from(icmp.subarray(echoHeaderBytes, echoHeaderBytes + tokenBytes)),
  };
}

function mtuIn(family: IpFamily, icmp: Buffer): number | null {
  if (family === 4 && icmp.readUInt8(0) === 3 && icmp.readUInt8(1) === 4) {
    return icmp.readUInt16BE(6) || null;
  }
  if (family === 6 && icmp.readUInt8(0) === 2) return icmp.readUInt32BE(4) || null;
  return null;
}

interface IpHeader {
  readonly ttl: number;
  readonly target: string;
  /** Data after the header. */
  readonly rest: Buffer;
}

const ICMP = 1;
const ICMPV6 = 58;

function readIpv4Header(packet: Buffer): IpHeader | undefined {
  if (packet.length < 20 || packet.readUInt8(0) >> 4 !== 4) return undefined;
  const headerBytes = (packet.readUInt8(0) & 0x0f) * 4;
  // Only the first fragment of a packet contains the ICMP header.
  const isLaterFragment = (packet.readUInt16BE(6) & 0x1fff) !== 0;
  if (headerBytes < 20 || isLaterFragment || packet.readUInt8(9) !== ICMP) return undefined;
  return {
    ttl: packet.readUInt8(8),
    target: packet.subarray(16, 20).join('.'),
    rest: packet.subarray(headerBytes),
  };
}

/** Extension headers whose length is in units of 8 bytes: hop-by-hop options, routing, destination options. */
const extensionHeaders: ReadonlySet<number> = new Set([0, 43, 60]);
const fragmentHeader = 44;

function readIpv6Headers(packet: Buffer): IpHeader | undefined {
  if (packet.length < 40 || packet.readUInt8(0) >> 4 !== 6) return undefined;
  let next = packet.readUInt8(6);
  let offset = 40;
  while (next !== ICMPV6) {
    if (packet.length < offset + 8) return undefined;
    if (next === fragmentHeader) {
      if ((packet.readUInt16BE(offset + 2) & 0xfff8) !== 0) return undefined;
      next = packet.readUInt8(offset);
      offset += 8;
    } else if (extensionHeaders.has(next)) {
      next = packet.readUInt8(offset);
      offset += (packet.readUInt8(offset + 1) + 1) * 8;
    } else {
      return undefined;
    }
  }
  const groups = Array.from({ length: 8 }, (_, index) => packet.readUInt16BE(24 + 2 * index).toString(16));
  return {
    ttl: packet.readUInt8(7),
    target: canonicalAddress(groups.join(':')),
    rest: packet.subarray(offset),
  };
}
