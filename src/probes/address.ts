import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

export type IpFamily = 4 | 6;

/** The address family to resolve: one family, or IPv4 with IPv6 as the fallback. */
export type WantedFamily = IpFamily | 'ipv4-first';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: IpFamily;
}

/** Parses an IP literal; returns undefined for a name. */
export function literalAddress(hostname: string): ResolvedAddress | undefined {
  const family = isIP(hostname);
  return family === 4 || family === 6 ? { address: hostname, family } : undefined;
}

/** Converts an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) in any notation to its IPv4 address. */
export function unmapped({ address, family }: ResolvedAddress): ResolvedAddress {
  const compressed = family === 6 ? URL.parse(`http://[${address}]/`)?.hostname : undefined;
  const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(compressed ?? '') ?? [];
  if (high === undefined || low === undefined) return { address, family };
  const parts = [high, low]
    .map((part) => Number.parseInt(part, 16))
    .flatMap((part) => [part >> 8, part & 255]);
  return { address: parts.join('.'), family: 4 };
}

/** Returns the address that packets carry: for mapped and unspecified addresses, responses come from another one. */
export function wireAddress(resolved: ResolvedAddress): ResolvedAddress {
  const { address, family } = unmapped(resolved);
  if (address === '0.0.0.0') return { address: '127.0.0.1', family: 4 };
  if (address === '::') return { address: '::1', family: 6 };
  return { address, family };
}

/** `host:port`, with brackets around an IPv6 address. */
export function hostAndPort(hostname: string, port: number): string {
  return hostname.includes(':') ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

/**
 * Returns true if IPv6 is enabled on this host: with `disable_ipv6` not even the loopback interface has an IPv6
 * address. A host with IPv6 but without a route reports ENETUNREACH only on connect.
 */
export function isIpv6Enabled(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some((address) => address.family === 'IPv6'),
  );
}

/**
 * Returns the family to connect with: the wanted one, or IPv4 if IPv6 is disabled (spec: the agent falls back to IPv4
 * when IPv6 is disabled).
 */
export function usableFamily(
  wanted: IpFamily,
  isIpv6Usable: () => boolean = isIpv6Enabled,
): { readonly family: IpFamily; readonly isFallback: boolean } {
  if (wanted === 6 && !isIpv6Usable()) return { family: 4, isFallback: true };
  return { family: wanted, isFallback: false };
}
