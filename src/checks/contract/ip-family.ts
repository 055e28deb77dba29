import { z } from 'zod';

/** An address family as checks and results name it. */
export const ipFamilies = ['IPv4', 'IPv6'] as const;
export type IpFamilyName = (typeof ipFamilies)[number];

/** Address family that a check uses. */
export const IpFamilyField = z
  .enum(ipFamilies)
  .default('IPv4')
  .describe('IPv4: IPv4, or IPv6 if the name has no IPv4 address; IPv6: IPv6 only');

/** Returns the family of the address that was used; null without an address. */
export function familyName(address: string | null): IpFamilyName | null {
  if (address === null) return null;
  return address.includes(':') ? 'IPv6' : 'IPv4';
}
