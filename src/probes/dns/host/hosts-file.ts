import { isIP } from 'node:net';
import type { ResolvedAddress } from '../../resolver.ts';

/** Addresses by name, in the order of the file. Names are in lower case. */
export type HostsFile = ReadonlyMap<string, readonly ResolvedAddress[]>;

/** Reads hosts(5). A line that does not begin with an address is ignored. */
export function parseHosts(text: string): HostsFile {
  const hosts = new Map<string, ResolvedAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/);
    const family = isIP(address);
    if (family !== 4 && family !== 6) continue;
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, '');
      const known = hosts.get(key) ?? [];
      if (!known.some((entry) => entry.address === address)) known.push({ address, family });
      hosts.set(key, known);
    }
  }
  return hosts;
}
