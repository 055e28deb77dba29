import type { FailureCode } from '../../../checks/contract/failure.ts';
import { parseHostname } from '../../../checks/contract/target.ts';
import { isNamedByMessage, networkFailureIn } from '../../../checks/judging/network-text.ts';
import type { RunFacts } from '../evidence.ts';
import { type Fields, fieldsOf, listOf, textOf } from './read.ts';

/** What went wrong in a script, as its first error says. */
export interface ScriptFault {
  readonly kind: 'network' | 'navigation-timeout' | 'locator' | 'assertion' | 'thrown' | 'test-timeout';
  /** What the network did, in the words of the catalogue; that of the run for anything else. */
  readonly code: string;
  readonly message: string;
  readonly test: string | null;
  readonly url: string | null;
  readonly host: string | null;
  readonly address: string | null;
  /** What the script waited for, such as `locator('#buy')`. */
  readonly locator: string | null;
  readonly expected: string | null;
  readonly received: string | null;
  /** The name of an error that the script threw by itself. */
  readonly errorName: string | null;
  /** Answers of servers that the page got and that say that something is wrong, and what it logged. */
  readonly pageErrors: readonly { readonly kind: string; readonly message: string; readonly url: string }[];
}

/** What Chromium, Firefox and Node call what the network did. */
const networkCodes: readonly (readonly [pattern: RegExp, code: FailureCode])[] = [
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

/** What is read of an error: it can hold a whole page. */
const maxReadLetters = 10_000;

/** What is known of the fault of a script; null for runs of other types. */
export function scriptFaultOf(facts: RunFacts, detail: Fields): ScriptFault | null {
  const errors = detail['errors'];
  const isNetwork = ({ code, message }: RunFacts) =>
    code !== null && isNamedByMessage(code) && networkFailureIn(message ?? '') !== null;
  // Setup scripts have no list of errors, nor have runs whose detail was too large to be kept.
  if (!Array.isArray(errors) && !isNetwork(facts)) return null;
  const [first = {}] = listOf(errors).map(fieldsOf);
  const nested = fieldsOf(first['error']);
  const said = textOf(first['message']) ?? textOf(nested['message']) ?? facts.message ?? '';
  const message = plain(said.slice(0, maxReadLetters));
  const name = textOf(first['name']) ?? null;
  const network = networkCodes.find(([pattern]) => pattern.test(message));
  const url = /\bat ((?:https?|wss?):\/\/[^\s"')]+)/.exec(message)?.[1] ?? calledUrl(message);
  const address = /E[A-Z]{4,} ([0-9a-fA-F.:]+):\d+/.exec(message)?.[1] ?? null;
  const lookedUp = /getaddrinfo \w+ ([^\s"':]+)/.exec(message)?.[1];
  const kind = network ? 'network' : kindOf(message);
  return {
    kind,
    code: network?.[1] ?? facts.code ?? '',
    message,
    test: textOf(first['test']) ?? textOf(first['testTitle']),
    url,
    host: parseHostname(lookedUp ?? hostOf(url) ?? '') ?? null,
    address,
    locator: locatorIn(message),
    expected: /^Expected(?: \w+)?: +(.+)$/m.exec(message)?.[1] ?? null,
    received: /^Received(?: \w+)?: +(.+)$/m.exec(message)?.[1] ?? null,
    errorName: thrownName(name, message),
    pageErrors: listOf(detail['pageErrors']).map((one) => {
      const { kind: of, message: said, url: where } = fieldsOf(one);
      return { kind: textOf(of) ?? '', message: textOf(said) ?? '', url: textOf(where) ?? '' };
    }),
  };
}

function kindOf(message: string): ScriptFault['kind'] {
  if (/\b(?:goto|waitForURL|waitForNavigation|reload): Timeout/.test(message)) return 'navigation-timeout';
  if (/waiting for (?:locator|getBy|frameLocator|selector)/.test(message)) return 'locator';
  if (/\bexpect\(/.test(message)) return 'assertion';
  if (/Test timeout of \d+ ?ms exceeded/.test(message)) return 'test-timeout';
  return 'thrown';
}

/** `locator('#buy')` of a call log or of an expectation. */
function locatorIn(message: string): string | null {
  const waited = /waiting for ((?:locator|getBy|frameLocator)[^\n]{1,200})/.exec(message)?.[1];
  return waited?.replace(/ to be \w+$/, '') ?? /^Locator: +(.+)$/m.exec(message)?.[1] ?? null;
}

function thrownName(name: string | null, message: string): string | null {
  const said = /^(\w*Error): /.exec(message)?.[1] ?? name;
  return said === 'Error' ? null : said;
}

/** The address in the log of a call of Playwright's request context: `→ GET http://…`. */
function calledUrl(message: string): string | null {
  return /(?:→ [A-Z]+ |navigating to ")((?:https?):\/\/[^\s"]+)/.exec(message)?.[1] ?? null;
}

function hostOf(url: string | null): string | undefined {
  return url !== null && URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** Without the colours that Playwright writes. */
function plain(text: string): string {
  return text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g'), '');
}
