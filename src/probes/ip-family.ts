import { networkInterfaces } from 'node:os';
import type { IpFamily } from './resolver.ts';

/**
 * True when this host has IPv6 switched on at all: with `disable_ipv6` not even the loopback interface has an IPv6
 * address. A host with IPv6 but without a route says so only when it connects (ENETUNREACH).
 */
export function isIpv6Enabled(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some((address) => address.family === 'IPv6'),
  );
}

/**
 * The family to connect with: the wanted one, or IPv4 where IPv6 is switched off (spec: the agent falls back to IPv4
 * when IPv6 is disabled).
 */
export function usableFamily(
  wanted: IpFamily,
  isIpv6Usable: () => boolean = isIpv6Enabled,
): { readonly family: IpFamily; readonly isFallback: boolean } {
  if (wanted === 6 && !isIpv6Usable()) return { family: 4, isFallback: true };
  return { family: wanted, isFallback: false };
}
