/** A forward proxy from its URL. */
export interface ForwardProxy {
  readonly protocol: 'http' | 'socks5';
  /** TLS to the proxy itself. */
  readonly isSecure: boolean;
  readonly hostname: string;
  readonly port: number;
  /** Value of Proxy-Authorization from the URL's user and password. */
  readonly authorization: string | undefined;
  /** The URL's user and password, as SOCKS sends them. */
  readonly login: { readonly user: string; readonly password: string } | undefined;
}

/** A connection that a proxy is asked for. */
export interface Tunnel {
  readonly proxy: ForwardProxy;
  /** The target, whose name the proxy resolves. */
  readonly hostname: string;
  readonly port: number;
  /** Whether TLS follows. */
  readonly isSecure: boolean;
  /** Called with true once the proxy is asked: its silence may then be the target's. With false when it says no. */
  onPending(isPending: boolean): void;
}

/** Schemes that a proxy's URL may have, and the port of each. Both of SOCKS have the proxy resolve names. */
const defaultPorts: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'socks5:': 1080,
  'socks5h:': 1080,
};

/** Whether a proxy can be had from that URL. */
export function isProxyUrl({ protocol, hostname }: URL): boolean {
  return protocol in defaultPorts && hostname !== '';
}

/** The proxy a URL describes; its port defaults to the one of its scheme. */
export function proxyFromUrl(url: URL): ForwardProxy {
  const { protocol, username, password } = url;
  const hasLogin = username !== '' || password !== '';
  return {
    protocol: protocol.startsWith('socks5') ? 'socks5' : 'http',
    isSecure: protocol === 'https:',
    hostname: bareHostname(url),
    port: url.port === '' ? (defaultPorts[protocol] ?? 80) : Number(url.port),
    authorization: basicAuthorization(url),
    login: hasLogin ? { user: decodePart(username), password: decodePart(password) } : undefined,
  };
}

/** Host of a URL without the brackets of an IPv6 literal. */
export function bareHostname(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/** `Authorization` value for the user and password of a URL, if it has any. */
export function basicAuthorization(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined;
  const credentials = `${decodePart(url.username)}:${decodePart(url.password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    // A lone % is legal in a URL's password; it is then meant literally.
    if (error instanceof URIError) return text;
    throw error;
  }
}
