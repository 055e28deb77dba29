import ipaddr from 'ipaddr.js';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
/** An address and the number of its significant bits. */
export type IpNetwork = readonly [address: IpAddress, prefixBits: number];

/** IPv6 ranges with an embedded IPv4 address, and the offset of that address in the 16 bytes. */
const carriers: readonly (readonly [range: string, offsetBytes: number])[] = [
  // IPv4-mapped (RFC 4291 section 2.5.5.2): the kernel connects to the IPv4 address.
  ['::ffff:0:0/96', 12],
  // IPv4-translated (RFC 2765 section 2.1).
  ['::ffff:0:0:0/96', 12],
  // NAT64 (RFC 6052 section 2.1, RFC 8215): the network connects to the IPv4 address.
  ['64:ff9b::/96', 12],
  ['64:ff9b:1::/48', 12],
  // 6to4 (RFC 3056): the packets are tunnelled to the IPv4 address.
  ['2002::/16', 2],
];
const carrierNetworks = carriers.map(([range, offsetBytes]) => ({
  network: ipaddr.IPv6.parseCIDR(range),
  offsetBytes,
}));
/** IPv4-compatible (RFC 4291 section 2.5.5.1). */
const compatibleNetwork = ipaddr.IPv6.parseCIDR('::/96');

/**
 * Parses an address in any spelling: IPv4 dotted, short (`127.1`), octal, hexadecimal or as one number, IPv6 in every
 * form, with brackets or a zone. Returns undefined for names and other text.
 */
export function parseAddress(text: string): IpAddress | undefined {
  const [bare = ''] = text.replace(/^\[(.*)\]$/, '$1').split('%', 1);
  return ipaddr.isValid(bare) ? ipaddr.parse(bare) : undefined;
}

/**
 * Returns every address that a connection to this one may reach: itself; its embedded IPv4 address, if any; and
 * loopback for the unspecified address, which the kernel treats as loopback.
 */
export function meantAddresses(address: IpAddress): readonly IpAddress[] {
  const bytes = address.toByteArray();
  if (bytes.every((byte) => byte === 0)) {
    return [address, ipaddr.parse(isIpv6(address) ? '::1' : '127.0.0.1')];
  }
  if (!isIpv6(address)) return [address];
  const carried = carriedBytes(address, bytes);
  return carried ? [address, ...meantAddresses(ipaddr.fromByteArray(carried))] : [address];
}

function carriedBytes(address: ipaddr.IPv6, bytes: number[]): number[] | undefined {
  const carrier = carrierNetworks.find(({ network }) => address.match(network));
  if (carrier) return bytes.slice(carrier.offsetBytes, carrier.offsetBytes + 4);
  // `::7f00:1` embeds 127.0.0.1, while `::1` and other small numbers are IPv6 addresses themselves.
  const isCompatible = address.match(compatibleNetwork) && (bytes[12] !== 0 || bytes[13] !== 0);
  return isCompatible ? bytes.slice(12) : undefined;
}

export function isIpv6(address: IpAddress): address is ipaddr.IPv6 {
  return address.kind() === 'ipv6';
}

/** Returns whether an address is in a network; the families must match. */
export function isInNetwork(address: IpAddress, [network, prefixBits]: IpNetwork): boolean {
  return address.kind() === network.kind() && address.match(network, prefixBits);
}

/**
 * Specificity of a network, comparable across families: an IPv4 network is as narrow as the IPv4-mapped network of the
 * same addresses.
 */
export function narrowness([network, prefixBits]: IpNetwork): number {
  return isIpv6(network) ? prefixBits : 96 + prefixBits;
}

/** The network that contains only this address. */
export function hostNetwork(address: IpAddress): IpNetwork {
  return [address, isIpv6(address) ? 128 : 32];
}
