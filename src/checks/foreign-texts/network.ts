import type { FailureCode } from '../contract/failure.ts';
import { parseHostname } from '../contract/target.ts';

/** A network failure that the text of a script, a browser or Node names. */
export interface NetworkText {
  /** `unnamed`: its name does not resolve; `unreachable`: no connection, no response, or an incomplete one. */
  readonly symptom: 'unnamed' | 'unreachable';
  /** Part of the location that can cause it if the target is healthy; null if only the target can. */
  readonly part: 'resolver' | 'network' | null;
  readonly host: string | null;
  readonly address: string | null;
}

const url = String.raw`(?:https?|wss?):\/\/(?:[^/\s"'@]*@)?(?<host>\[[^\]]+\]|[^/:\s"']+)`;
const endpoint = String.raw`(?<address>[0-9a-fA-F.:]+):\d+`;

const texts: readonly (readonly [
  pattern: RegExp,
  symptom: NetworkText['symptom'],
  part: NetworkText['part'],
])[] = [
  [new RegExp(`net::ERR_NAME_(?:NOT_RESOLVED|RESOLUTION_FAILED) at ${url}`, 'i'), 'unnamed', 'resolver'],
  [/getaddrinfo (?:ENOTFOUND|EAI_AGAIN|EAI_FAIL) (?<host>[^\s"':]+)/, 'unnamed', 'resolver'],
  [new RegExp(`NS_ERROR_UNKNOWN_HOST.*?${url}`, 'is'), 'unnamed', 'resolver'],
  // A refusal is a reply: of the target, or of its host.
  [new RegExp(`net::ERR_CONNECTION_REFUSED at ${url}`, 'i'), 'unreachable', null],
  [new RegExp(`connect ECONNREFUSED ${endpoint}`), 'unreachable', null],
  [
    new RegExp(
      `net::ERR_(?:CONNECTION|PROXY|ADDRESS|TIMED|EMPTY|SOCKET|TUNNEL|NETWORK|INTERNET|HTTP2_PING)\\w* at ${url}`,
      'i',
    ),
    'unreachable',
    'network',
  ],
  [
    new RegExp(`connect E(?:TIMEDOUT|HOSTUNREACH|NETUNREACH|CONNRESET) ${endpoint}`),
    'unreachable',
    'network',
  ],
  [/Connect Timeout Error \(attempted address: (?<host>[^\s:,]+)/, 'unreachable', 'network'],
  // A timeout of a page or request; not of an element, which a loaded page may lack.
  [new RegExp(`goto: Timeout \\d+ms exceeded.*?navigating to "${url}`, 's'), 'unreachable', 'network'],
  [
    new RegExp(
      `(?:apiRequestContext|request)\\.\\w+: (?:Timeout \\d+ms exceeded|Request timed out).*?→ \\w+ ${url}`,
      's',
    ),
    'unreachable',
    'network',
  ],
  [
    /\b(?:read|write) (?:ECONNRESET|EPIPE|ETIMEDOUT)\b|socket hang up|other side closed/,
    'unreachable',
    'network',
  ],
];

/** Returns the network failure that a text names, or null. */
export function networkFailureIn(text: string): NetworkText | null {
  for (const [pattern, symptom, part] of texts) {
    const found = pattern.exec(text);
    if (!found) continue;
    const { host, address } = found.groups ?? {};
    return { symptom, part, host: host ? (parseHostname(host) ?? null) : null, address: address ?? null };
  }
  return null;
}

/** Names of network errors in Chromium, Firefox and Node. */
const codes: readonly (readonly [pattern: RegExp, code: FailureCode])[] = [
  [/net::ERR_NAME_NOT_RESOLVED|NS_ERROR_UNKNOWN_HOST|getaddrinfo ENOTFOUND/, 'NAME_NOT_FOUND'],
  [/getaddrinfo EAI_AGAIN/, 'RESOLVER_FAILED'],
  [/net::ERR_CONNECTION_REFUSED|NS_ERROR_CONNECTION_REFUSED|ECONNREFUSED/, 'CONNECTION_REFUSED'],
  [
    /net::ERR_CONNECTION_(?:RESET|CLOSED|ABORTED)|net::ERR_EMPTY_RESPONSE|ECONNRESET|socket hang up/,
    'CONNECTION_RESET',
  ],
  [/net::ERR_(?:CONNECTION_TIMED_OUT|TIMED_OUT)|NS_ERROR_NET_TIMEOUT|ETIMEDOUT/, 'CONNECTION_TIMEOUT'],
  [/net::ERR_ADDRESS_UNREACHABLE|EHOSTUNREACH/, 'HOST_UNREACHABLE'],
  [/net::ERR_INTERNET_DISCONNECTED|net::ERR_NETWORK_CHANGED|ENETUNREACH/, 'NETWORK_UNAVAILABLE'],
  [
    /net::ERR_CERT_|CERT_HAS_EXPIRED|certificate has expired|self[- ]signed certificate|unable to verify the first|ERR_TLS_CERT_ALTNAME/,
    'TLS_CERTIFICATE_INVALID',
  ],
  [/net::ERR_SSL_|SSL_ERROR_|EPROTO/, 'TLS_HANDSHAKE_FAILED'],
  [/net::ERR_TOO_MANY_REDIRECTS|NS_ERROR_REDIRECT_LOOP|Max redirect count exceeded/, 'REDIRECT_LIMIT'],
  [/net::ERR_(?:PROXY|TUNNEL)_/, 'PROXY_FAILED'],
];

/** Returns our failure code for a network error of a browser or Node. */
export function networkCodeIn(text: string): FailureCode | undefined {
  return codes.find(([pattern]) => pattern.test(text))?.[1];
}

/** Returns the peer in a system error: `connect ECONNREFUSED 10.0.0.1:80`. */
export function systemPeerIn(text: string): { readonly address: string; readonly port: number } | null {
  const [, address, port] = /E[A-Z]{4,} ([0-9a-fA-F.:]+):(\d{1,5})\b/.exec(text) ?? [];
  return address === undefined ? null : { address, port: Number(port) };
}

/** Returns the name that Node could not resolve. */
export function lookedUpNameIn(text: string): string | undefined {
  return /getaddrinfo \w+ ([^\s"':]+)/.exec(text)?.[1];
}
