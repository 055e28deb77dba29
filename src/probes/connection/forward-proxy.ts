/** A forward proxy, parsed from its URL. */
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

/** A connection requested from a proxy. */
export interface Tunnel {
  readonly proxy: ForwardProxy;
  /** The target; the proxy resolves its name. */
  readonly hostname: string;
  readonly port: number;
  /** True if TLS follows. */
  readonly isSecure: boolean;
  /** Called with true once a tunnel is requested (silence may now be the target's), with false if it is refused. */
  onPending(isPending: boolean): void;
}

/** Schemes of proxy URLs and their default ports. With both SOCKS schemes, the proxy resolves names. */
const defaultPorts: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'socks5:': 1080,
  'socks5h:': 1080,
};

/** Returns true if the URL describes a supported proxy. */
export function isProxyUrl({ protocol, hostname }: URL): boolean {
  return protocol in defaultPorts && hostname !== '';
}

/** The proxy that a URL describes; the port defaults to that of the scheme. */
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

/** Host of a URL, without the brackets of an IPv6 literal. */
export function bareHostname(url: Pick<URL, 'hostname'>): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/** `Authorization` value for the user and password of a URL; undefined if it has neither. */
export function basicAuthorization(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined;
  const credentials = `${decodePart(url.username)}:${decodePart(url.password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    // A lone % is legal in a URL's password and is then literal.
    if (error instanceof URIError) return text;
    throw error;
  }
}
