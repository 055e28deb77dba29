import { isIP } from 'node:net';
import { literalAddress, type ResolvedAddress, unmapped } from '../../address.ts';
import type { DnsServer } from '../server.ts';

/** What resolv.conf(5) says about name servers. */
export interface ResolvConf {
  /** In the order they are asked; at least one. */
  readonly servers: readonly DnsServer[];
  /** Domains to try a short name in. */
  readonly search: readonly string[];
  /** A name with at least this many dots is tried as it is first. */
  readonly ndots: number;
  /** How long one server may take, in milliseconds. */
  readonly timeoutMs: number;
  /** How often the servers are gone through. */
  readonly attempts: number;
  /** Take turns in which server is asked first. */
  readonly isRotated: boolean;
  readonly isTcpOnly: boolean;
  readonly isEdns: boolean;
}

/** glibc's limits. */
const maxServers = 3;
const maxNdots = 15;
const maxTimeoutSeconds = 30;
const maxAttempts = 5;

/**
 * Reads resolv.conf(5): nameserver (also as `[address]:port`, as OpenBSD writes it), search, domain and the
 * options ndots, timeout, attempts, rotate, use-vc and edns0. Whatever else there is is ignored, as it is by
 * libc. Without a name server it is the local host's.
 */
export function parseResolvConf(text: string): ResolvConf {
  const servers: DnsServer[] = [];
  let search: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [keyword, ...words] = line.trim().split(/\s+/);
    if (keyword === 'nameserver' && words[0] !== undefined) {
      const server = serverOf(words[0]);
      if (server && servers.length < maxServers) servers.push(server);
    } else if (keyword === 'search' || keyword === 'domain') {
      // The last of them counts.
      search = words.map((word) => word.replace(/\.$/, '')).filter((word) => word !== '');
    } else if (keyword === 'options') {
      for (const word of words) {
        const [name = '', value = ''] = word.split(':', 2);
        options.set(name, value);
      }
    }
  }
  if (servers.length === 0) servers.push(nameServer('127.0.0.1', 53));
  const number = (name: string, fallback: number, min: number, max: number) => {
    const value = Number.parseInt(options.get(name) ?? '', 10);
    return Number.isNaN(value) ? fallback : Math.min(max, Math.max(min, value));
  };
  return {
    servers,
    search,
    ndots: number('ndots', 1, 0, maxNdots),
    timeoutMs: number('timeout', 5, 1, maxTimeoutSeconds) * 1000,
    attempts: number('attempts', 2, 1, maxAttempts),
    isRotated: options.has('rotate'),
    isTcpOnly: options.has('use-vc'),
    isEdns: options.has('edns0'),
  };
}

function serverOf(text: string): DnsServer | undefined {
  const withPort = /^\[(.+)\]:(\d{1,5})$/.exec(text);
  const [address, port] = withPort ? [withPort[1] ?? '', Number(withPort[2])] : [text, 53];
  const isUsable = isIP(address) !== 0 && port >= 1 && port <= 65_535;
  return isUsable ? nameServer(address, port) : undefined;
}

/** A server that is known by its address only. */
function nameServer(address: string, port: number): DnsServer {
  return { hostname: address, address, family: isIP(address) === 6 ? 6 : 4, port };
}

/** Addresses by name, in the order of the file. Names are in lower case. */
export type HostsFile = ReadonlyMap<string, readonly ResolvedAddress[]>;

/**
 * Reads hosts(5). A line that does not begin with an address is ignored. An IPv4 address that is written as one of IPv6
 * (`::ffff:10.0.0.1`, RFC 4291 section 2.5.5.2) is that of IPv4, as glibc reads it.
 */
export function parseHosts(text: string): HostsFile {
  const hosts = new Map<string, ResolvedAddress[]>();
  for (const line of text.split('\n')) {
    const [written = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/);
    const literal = literalAddress(written);
    if (!literal) continue;
    const { address, family } = unmapped(literal);
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, '');
      const known = hosts.get(key) ?? [];
      if (!known.some((entry) => entry.address === address)) known.push({ address, family });
      hosts.set(key, known);
    }
  }
  return hosts;
}
