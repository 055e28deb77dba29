import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** Addresses and networks by location. */
export type AddressesByLocation = Readonly<Record<string, readonly string[]>>;

export interface StaticIps {
  readonly v4: AddressesByLocation;
  readonly v6: AddressesByLocation;
}

/** Reads `location=address,network location=…` and reports every problem. */
export function readStaticIps(
  text: string,
  family: '4' | '6',
): { byLocation: AddressesByLocation; problems: string[] } {
  const byLocation: Record<string, string[]> = Object.create(null);
  const problems: string[] = [];
  for (const entry of text.split(/\s+/).filter((part) => part !== '')) {
    const [location = '', list = '', ...more] = entry.split('=');
    if (!/^[A-Za-z0-9-]{1,63}$/.test(location) || list === '' || more.length > 0) {
      problems.push(`"${entry}" must be a location, "=" and addresses separated by commas`);
      continue;
    }
    const addresses = list.split(',');
    for (const address of addresses) {
      if (!isAddress(address, family)) {
        problems.push(`"${address}" is not an IPv${family} address or network`);
      }
    }
    byLocation[location] = [...(byLocation[location] ?? []), ...addresses];
  }
  return { byLocation, problems };
}

/** Whether a text is an address of a family, or a network in CIDR notation. */
export function isAddress(text: string, family: '4' | '6'): boolean {
  const kind = family === '4' ? ipaddr.IPv4 : ipaddr.IPv6;
  if (text.includes('/')) return kind.isValidCIDR(text);
  return family === '4' ? ipaddr.IPv4.isValidFourPartDecimal(text) : ipaddr.IPv6.isValid(text);
}

/** Returns all addresses, each once, in the order of the locations. */
export function allAddresses(byLocation: AddressesByLocation): string[] {
  return [...new Set(Object.values(byLocation).flat())];
}

/** A setting with addresses by location, as text: problems are reported when the configuration is read. */
export function staticIpSetting(family: '4' | '6') {
  const example = family === '4' ? 'lab=203.0.113.0/28,203.0.113.77' : 'lab=2001:db8:4:100::/56';
  return z
    .string()
    .superRefine((text, context) => {
      for (const message of readStaticIps(text, family).problems)
        context.addIssue({ code: 'custom', message });
    })
    .default('')
    .meta({ defaultText: 'none' })
    .describe(
      `Source IPv${family} addresses of check runs by location, for \`/v1/static-ip${family === '4' ? '' : 'v6'}s\`: \`${example}\`, several locations separated by spaces`,
    );
}
