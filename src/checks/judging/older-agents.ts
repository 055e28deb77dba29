import type { DiagnosedRoute } from '../contract/facts.ts';
import type { FailureDetails } from '../contract/failure-details.ts';
import type { Failing } from './failure-words.ts';

/**
 * Reads the facts of failures from the messages and log lines of agents before 8.0, which report no facts. To be
 * removed after two releases; newer agents report `Failure.details` and the field `route` of details.
 */

/** Returns the failed part of an analysis that an earlier build stored: that build named the part only in words. */
export function failingOfOlderAnalysis(whatFailed: string): Failing | null {
  return olderParts[whatFailed.replace(/, not the target$/, '')] ?? null;
}

const olderParts: Readonly<Record<string, Failing>> = {
  'the target': 'target',
  'the target, or the network on the way to it': 'path',
  'the location': 'location',
  'the agent': 'agent',
  'the definition of the check': 'check',
  'the script of the check': 'script',
  'the target, or the script of the check': 'script-or-target',
};

/** Returns the facts of a failure that its message names. */
export function detailsOfOlderAgent(code: string, message: string): FailureDetails {
  return { ...peerIn(message), ...byCode[code]?.(message) };
}

const byCode: Readonly<Record<string, (message: string) => FailureDetails>> = {
  NAME_NOT_FOUND: (message) => ({ nameExists: /ENODATA|NOERROR|EAI_NODATA/.test(message) }),
  RESOLVER_FAILED: (message) => ({ responseCode: /\b(?:SERVFAIL|(?<=answered )\w+)/.exec(message)?.[0] }),
  HOST_UNREACHABLE: proxyIn,
  PROXY_FAILED: (message) => ({ proxyStatus: message.includes('answered 407') ? 407 : undefined }),
  CONNECTION_TIMEOUT: limitIn,
  RESPONSE_TIMEOUT: limitIn,
  TLS_CERTIFICATE_INVALID: (message) => ({ clockAt: /this host's clock says (\S+)/.exec(message)?.[1] }),
  TLS_BASELINE_VIOLATED: (message) => ({
    baselinePart: /certificate|signature of|key of/i.test(message) ? 'certificate' : 'connection',
  }),
  NO_REPLY: loopIn,
  STATUS_UNEXPECTED: (message) => ({
    grpcStatus: numberIn(/^Unexpected gRPC status (\d+) \(\w+\)/.exec(message)?.[1]),
  }),
  DIALOGUE_FAILED: (message) => ({
    closeCode: numberIn(/closed the conversation with code (\d+)/.exec(message)?.[1]),
  }),
  EGRESS_DENIED: (message) => ({ egressRule: / is refused:? (.+)$/.exec(message)?.[1] }),
};

/** Parses `connect ECONNREFUSED 10.0.0.1:80`, `… (shop.test:443)`. */
function peerIn(message: string): FailureDetails {
  const [, address, addressPort] = /\bE[A-Z]{4,} ([^\s()]+):(\d{1,5})\b/.exec(message) ?? [];
  if (address !== undefined) return { address, port: Number(addressPort) };
  const [, host, port] = /\(([^\s()]+):(\d{1,5})\)/.exec(message) ?? [];
  return host === undefined ? {} : { host: withoutBrackets(host), port: Number(port) };
}

function proxyIn(message: string): FailureDetails {
  const [, proxy, status, words, host, port] =
    /^proxy (\S+) answered (\d+) ?(.*?) ?to CONNECT (\S+):(\d+)$/.exec(message) ?? [];
  if (proxy === undefined || host === undefined) return {};
  const answer = { proxy, proxyStatus: Number(status), proxyStatusText: words };
  return { ...answer, host: withoutBrackets(host), port: Number(port) };
}

function limitIn(message: string): FailureDetails {
  if (message.includes('downloading the body')) return { timedOutIn: 'download' };
  return message.includes('negotiating TLS') ? { timedOutIn: 'tls' } : {};
}

function loopIn(message: string): FailureDetails {
  const routers = /go round in circles between (.+)$/.exec(message)?.[1];
  return routers === undefined ? {} : { loop: routers.split(' and ') };
}

function numberIn(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits);
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.+)\]$/, '$1');
}

/** Returns the end of the path that a diagnosis found, from the log of the run; null if the log has none. */
export function routeOfOlderAgent(log: readonly string[]): DiagnosedRoute | null {
  const said = log.find((line) => line.startsWith('Diagnosis: traceroute.txt: '));
  if (said === undefined) return null;
  const router = /\(it ended [^)]*, ([0-9a-f.:]+)\)/.exec(said)?.[1] ?? null;
  return { end: endIn(said), router, hops: [] };
}

function endIn(said: string): DiagnosedRoute['end'] {
  if (said.includes('the target answered')) return 'reached';
  if (said.includes('there is no way on')) return 'unreachable';
  if (said.includes('behind the last hop')) return 'silent';
  if (said.includes('the time for it was over')) return 'time-limit';
  return said.includes('could not send') ? 'unsent' : 'hop-limit';
}
