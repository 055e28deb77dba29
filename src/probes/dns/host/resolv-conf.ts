import { isIP } from 'node:net';
import { literalAddress, type ResolvedAddress, unmapped } from '../../address.ts';
import type { DnsServer } from '../server.ts';

/** Name server settings of resolv.conf(5). */
export interface ResolvConf {
  /** In query order; at least one. */
  readonly servers: readonly DnsServer[];
  /** Domains appended to short names. */
  readonly search: readonly string[];
  /** A name with at least this many dots is first tried without a search domain. */
  readonly ndots: number;
  /** Timeout per server and attempt, in milliseconds. */
  readonly timeoutMs: number;
  /** Number of rounds through the servers. */
  readonly attempts: number;
  /** Rotates the server that is queried first. */
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
 * Parses resolv.conf(5): nameserver (also as `[address]:port`, as in OpenBSD), search, domain and the options ndots,
 * timeout, attempts, rotate, use-vc and edns0. Everything else is ignored, as libc does. Without a nameserver line, the
 * local host is the server.
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
      // The last line wins.
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

/** A server that is known only by its address. */
function nameServer(address: string, port: number): DnsServer {
  return { hostname: address, address, family: isIP(address) === 6 ? 6 : 4, port };
}

/** Addresses by lower-case name, in file order. */
export type HostsFile = ReadonlyMap<string, readonly ResolvedAddress[]>;

/**
 * Parses hosts(5). A line that does not begin with an address is ignored. An IPv4-mapped IPv6 address
 * (`::ffff:10.0.0.1`, RFC 4291 section 2.5.5.2) counts as IPv4, as in glibc.
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
