import { hostAndPort } from '../contract/definition/shorthand.ts';
import { parseHostname } from '../contract/target.ts';

/** A name server as a check names it. */
export interface NamedServer {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Path of a DNS-over-HTTPS server, unless it is the default. */
  readonly path: string | undefined;
}

/** Ports of RFC 1035, RFC 7858 and RFC 8484. */
const usualPorts = { UDP: 53, TCP: 53, DOT: 853, DOH: 443 } as const;

/**
 * Parses a name or address; for DNS over HTTPS it may be a URL or have a path.
 *
 * @param port its port; if absent, the text may have one, and otherwise it is the usual one of the protocol.
 * @returns undefined if it is neither a host name nor an IP address.
 */
export function namedServer(
  written: string,
  protocol: keyof typeof usualPorts,
  port?: number,
): NamedServer | undefined {
  const isHttps = protocol === 'DOH';
  const text = isHttps ? written.replace(/^https:\/\//i, '') : written;
  const slash = isHttps ? text.indexOf('/') : -1;
  const host = slash < 0 ? text : text.slice(0, slash);
  const [ownHost, ownPort = usualPorts[protocol]] = port === undefined ? hostAndPort(host) : [host, port];
  const hostname = parseHostname(ownHost);
  if (hostname === undefined || ownPort < 1 || ownPort > 65_535) return undefined;
  const path = slash < 0 ? '/' : text.slice(slash);
  return { hostname, port: ownPort, path: path === '/' ? undefined : path };
}
