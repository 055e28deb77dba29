import ipaddr from 'ipaddr.js';

/** Addresses and networks by location. */
export type AddressesByLocation = Readonly<Record<string, readonly string[]>>;

export interface StaticIps {
  readonly v4: AddressesByLocation;
  readonly v6: AddressesByLocation;
}

/** Reads `location=address,network location=…`; reports everything that is wrong with it. */
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
        problems.push(`"${address}" is no IPv${family} address or network`);
      }
    }
    byLocation[location] = [...(byLocation[location] ?? []), ...addresses];
  }
  return { byLocation, problems };
}

/** Whether a text is an address, or a network in CIDR notation, of a family. */
export function isAddress(text: string, family: '4' | '6'): boolean {
  const kind = family === '4' ? ipaddr.IPv4 : ipaddr.IPv6;
  if (text.includes('/')) return kind.isValidCIDR(text);
  return family === '4' ? ipaddr.IPv4.isValidFourPartDecimal(text) : ipaddr.IPv6.isValid(text);
}

/** All addresses, each once, in the order of the locations. */
export function allAddresses(byLocation: AddressesByLocation): string[] {
  return [...new Set(Object.values(byLocation).flat())];
}
