import { BlockList, isIP } from 'node:net';

const defaultPorts: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Schemes of proxies that processes of ours use. With both SOCKS schemes, the proxy resolves names. */
const proxySchemes = ['http:', 'https:', 'socks5:', 'socks5h:'];

/** Whether a text is the URL of a proxy that processes of ours can use. */
export function isProxyAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && proxySchemes.includes(url.protocol) && url.hostname !== '';
}

/** Whether a proxy speaks SOCKS5, which undici leaves to a connector. */
export function isSocksUrl({ protocol }: URL): boolean {
  return protocol.startsWith('socks5');
}

/** HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. */
export interface ProxySettings {
  readonly https?: string | undefined;
  readonly http?: string | undefined;
  readonly all?: string | undefined;
  readonly except?: string | undefined;
}

/**
 * Returns the proxy for an address: HTTPS_PROXY for https (HTTP_PROXY if that is not set), HTTP_PROXY for http,
 * ALL_PROXY where neither is set; undefined if NO_PROXY names its host.
 */
export function proxyUrlOf(address: string, { http, https, all, except }: ProxySettings): URL | undefined {
  const url = new URL(address);
  const proxy = (url.protocol === 'https:' ? https : undefined) ?? http ?? all;
  if (proxy === undefined || isExcepted(url, except ?? '')) return undefined;
  return new URL(proxy);
}

/** Most programs also read the proxy settings in lower case; upper case wins here when both are set. */
export function withLowerCaseProxies(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const merged = { ...environment };
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY']) {
    merged[name] ||= environment[name.toLowerCase()];
  }
  return merged;
}

/**
 * Whether a list like NO_PROXY names the host of a URL: its name or address, `.example.com` or `*.example.com` for
 * subdomains, a network such as `10.0.0.0/8`, or `*` for everything; each with an optional port after a colon.
 */
export function isExcepted(url: URL, list: string): boolean {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/(?<=.)\.$/, '');
  const port = url.port || defaultPorts[url.protocol];
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      const [, host = entry, onlyPort] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
      if (onlyPort !== undefined && onlyPort !== port) return false;
      return names(host.replace(/^\[(.*)\]$/, '$1'), hostname);
    });
}

function names(entry: string, hostname: string): boolean {
  if (entry === '*' || entry === hostname) return true;
  if (entry.startsWith('.') || entry.startsWith('*.')) return hostname.endsWith(entry.replace(/^\*/, ''));
  const [network = '', bits] = entry.split('/');
  const [networkFamily, family] = [isIP(network), isIP(hostname)];
  if (bits === undefined || !/^\d{1,3}$/.test(bits) || networkFamily === 0 || networkFamily !== family) {
    return false;
  }
  const type = family === 6 ? 'ipv6' : 'ipv4';
  if (Number(bits) > (family === 6 ? 128 : 32)) return false;
  const networks = new BlockList();
  networks.addSubnet(network, Number(bits), type);
  return networks.check(hostname, type);
}
