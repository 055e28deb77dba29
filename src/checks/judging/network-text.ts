import { type FailureCode, failureCatalogue, isFailureCode } from '../contract/failure.ts';
import { parseHostname } from '../contract/target.ts';

/** A network failure that the text of a script, a browser or Node names. */
export interface NetworkText {
  /** `unnamed`: its name leads nowhere; `unreachable`: no connection, no answer, or a broken one. */
  readonly symptom: 'unnamed' | 'unreachable';
  /** Which part of the location can bring it about where the target is well; null where only the target can. */
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
  // A refusal is an answer: of the target, or of the host that it runs on.
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
  // A page or a request that was waited for in vain; not an element, which a page that is there can lack.
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

/** The network failure that a text names, if it names one. */
export function networkFailureIn(text: string): NetworkText | null {
  for (const [pattern, symptom, part] of texts) {
    const found = pattern.exec(text);
    if (!found) continue;
    const { host, address } = found.groups ?? {};
    return { symptom, part, host: host ? (parseHostname(host) ?? null) : null, address: address ?? null };
  }
  return null;
}

/**
 * Which part of the location can bring a failure about where the target is well; null where none can: the
 * content of an answer is never a location's.
 */
export function locationPart(code: FailureCode, message: string): 'resolver' | 'network' | null {
  const fromLocation = partOf(code);
  if (fromLocation !== 'if-named') return fromLocation ?? null;
  return networkFailureIn(message)?.part ?? null;
}

/** Whether what the network did is known by the message of a failure alone, as of scripts. */
export function isNamedByMessage(code: string): boolean {
  return isFailureCode(code) && partOf(code) === 'if-named';
}

function partOf(code: FailureCode) {
  const entry = failureCatalogue[code];
  return 'fromLocation' in entry ? entry.fromLocation : undefined;
}
