import { parseHostname } from '../../../checks/contract/target.ts';
import { isNamedByMessage } from '../../../checks/judging/network-text.ts';
import { forwardingHop } from '../../../checks/traceroute/forwarding.ts';
import type { Artifact } from '../conclusion.ts';
import type { RunFacts } from '../evidence.ts';
import { type Fields, fieldsOf, listOf, numberOf, numbersOf, textOf, textsOf } from './read.ts';
import { type ScriptFault, scriptFaultOf } from './script-fault.ts';

/** An assertion and what it found. */
export interface SeenAssertion {
  readonly source: string;
  readonly property: string;
  readonly comparison: string;
  readonly target: string;
  readonly actual: unknown;
  readonly failed: boolean;
}

/** Where the route of a diagnosis ended. */
export interface SeenRoute {
  readonly end: 'reached' | 'unreachable' | 'silent' | 'other';
  /** The last router that answered, where the summary names it. */
  readonly hop: string | null;
}

/** A run as rules look at it, whatever its type: what its detail does not say is null or empty. */
export interface RunView {
  readonly facts: RunFacts;
  /** The code of the failure; that of the network where it failed a script, and the run says nothing more precise. */
  readonly code: string;
  readonly message: string;
  readonly script: ScriptFault | null;
  readonly host: string | null;
  readonly address: string | null;
  /** `host:port` or `address:port` of the peer, as the message names it. */
  readonly peer: string | null;
  readonly url: string | null;
  readonly status: number | null;
  readonly headers: ReadonlyMap<string, string>;
  readonly requestHeaders: ReadonlyMap<string, string>;
  readonly body: string;
  readonly isBodyCut: boolean;
  readonly redirects: readonly { readonly href: string; readonly status: number | null }[];
  /** Milliseconds of each phase; empty where there was no answer. */
  readonly phases: ReadonlyMap<string, number>;
  readonly certificate: {
    readonly subject: string | null;
    readonly issuer: string | null;
    readonly validTo: string | null;
  } | null;
  readonly assertions: readonly SeenAssertion[];
  readonly pings: readonly {
    readonly success: boolean;
    readonly from: string | null;
    readonly error: string | null;
  }[];
  readonly packetLoss: number | null;
  /** The way that a traceroute monitor found, the addresses of each hop; null for other checks. */
  readonly way: {
    readonly isComplete: boolean;
    readonly hops: readonly (readonly string[])[];
    /** The hop that has the address of the target and forwards packets; null without one. */
    readonly forwardingHop: number | null;
  } | null;
  readonly dns: {
    readonly query: string;
    readonly recordType: string;
    readonly returnCode: string;
    readonly answer: string;
    readonly server: string | null;
  } | null;
  readonly route: SeenRoute | null;
  readonly log: readonly string[];
  /** The files of the run that show something. */
  readonly files: readonly Artifact[];
}

/** Never throws, whatever the detail holds. */
export function viewOf(facts: RunFacts): RunView {
  const detail = fieldsOf(facts.detail);
  const [request, response] = [fieldsOf(detail['request']), fieldsOf(detail['response'])];
  const message = facts.message ?? facts.errorMessages[0] ?? '';
  const isNamed = facts.code === null || isNamedByMessage(facts.code);
  const script = scriptFaultOf(facts, detail);
  const log = logOf(detail['jobLog']);
  const url = script?.url ?? textOf(request['url']) ?? null;
  // gRPC and traceroute monitors have a host there.
  const named =
    url !== null && URL.canParse(url) ? new URL(url).hostname : (textOf(request['hostname']) ?? url);
  return {
    facts,
    code: (isNamed ? script?.code : null) ?? facts.code ?? '',
    message: (isNamed ? script?.message : null) ?? message,
    script,
    host: script?.host ?? (named === null ? null : (parseHostname(named) ?? null)),
    address:
      script?.address ??
      textOf(response['ipAddress']) ??
      textOf(response['resolvedIp']) ??
      textOf(fieldsOf(response['error'])['address']),
    peer: peerIn(script?.message ?? message),
    url,
    status: numberOf(response['status']) || null,
    headers: textsOf(response['headers']),
    requestHeaders: textsOf(request['headers']),
    body: textOf(response['body']) ?? textOf(response['data']) ?? '',
    isBodyCut: response['truncated'] === true || response['bodyEncoding'] !== undefined,
    redirects: listOf(response['redirects']).flatMap((one) => {
      const href = textOf(fieldsOf(one)['href']);
      return href === null ? [] : [{ href, status: numberOf(fieldsOf(one)['status']) }];
    }),
    phases: numbersOf(response['timingPhases']),
    certificate: certificateOf(response['certificate']),
    assertions: listOf(detail['assertions']).map(assertionOf),
    pings: listOf(response['pingResults']).map((one) => {
      const { success, from, error } = fieldsOf(one);
      return { success: success === true, from: textOf(from), error: textOf(error) };
    }),
    packetLoss: numberOf(response['packetLoss']),
    way: wayOf(response),
    dns: dnsOf(request, response),
    route: routeOf(log),
    log,
    files: filesOf(detail),
  };
}

function wayOf(response: Readonly<Record<string, unknown>>): RunView['way'] {
  const { destinationReached } = response;
  if (typeof destinationReached !== 'boolean') return null;
  const hops = listOf(response['hops']).map((hop, index) => {
    const { ips, error } = fieldsOf(hop);
    return { hopNumber: index + 1, ips: listOf(ips).flatMap((ip) => textOf(ip) ?? []), error: textOf(error) };
  });
  return {
    isComplete: destinationReached,
    hops: hops.map(({ ips }) => ips),
    forwardingHop: forwardingHop({ resolvedIp: textOf(response['resolvedIp']), destinationReached, hops }),
  };
}

/** `connect ECONNREFUSED 10.0.0.1:80`, `… (shop.test:443)`. */
function peerIn(message: string): string | null {
  const found = /\bE[A-Z]{4,} ([^\s()]+:\d{1,5})\b/.exec(message) ?? /\(([^\s()]+:\d{1,5})\)/.exec(message);
  return found?.[1] ?? null;
}

function certificateOf(value: unknown): RunView['certificate'] {
  const fields = fieldsOf(value);
  // SSL monitors say it in the words of their clients.
  const validTo = textOf(fields['validTo']) ?? textOf(fields['notAfter']);
  if (validTo === null) return null;
  return {
    subject: textOf(fields['subjectCN']) ?? textOf(fields['subject']),
    issuer: textOf(fields['issuerCN']) ?? textOf(fields['issuer']),
    validTo,
  };
}

function assertionOf(value: unknown): SeenAssertion {
  const { source, property, comparison, target, actual, error } = fieldsOf(value);
  return {
    source: textOf(source) ?? '',
    property: textOf(property) ?? '',
    comparison: textOf(comparison) ?? '',
    target: typeof target === 'number' ? String(target) : (textOf(target) ?? ''),
    actual: actual ?? null,
    failed: error !== null && error !== undefined,
  };
}

function dnsOf(request: Fields, response: Fields): RunView['dns'] {
  const query = textOf(request['query']);
  const recordType = textOf(request['recordType']);
  if (query === null || recordType === null) return null;
  return {
    query,
    recordType,
    returnCode: textOf(response['returnCode']) ?? '',
    answer: textOf(response['answer']) ?? '',
    server: textOf(fieldsOf(response['nameServerInfo'])['host']),
  };
}

/** The texts of a run's log, whichever form it has. */
function logOf(value: unknown): string[] {
  const entries = Array.isArray(value) ? value : listOf(fieldsOf(value)['request']);
  return entries.flatMap((entry) => textOf(fieldsOf(entry)['msg']) ?? []);
}

function routeOf(log: readonly string[]): SeenRoute | null {
  const said = log.find((line) => line.startsWith('Diagnosis: traceroute.txt: '));
  if (said === undefined) return null;
  const hop = /\(it ended [^)]*, ([0-9a-f.:]+)\)/.exec(said)?.[1] ?? null;
  if (said.includes('the target answered')) return { end: 'reached', hop: null };
  if (said.includes('there is no way on')) return { end: 'unreachable', hop };
  return { end: said.includes('nobody behind the last hop') ? 'silent' : 'other', hop };
}

function filesOf(detail: Fields): Artifact[] {
  const typed = (names: readonly unknown[], type: (name: string) => string): Artifact[] =>
    names.flatMap((one) => {
      const name = textOf(one);
      return name === null ? [] : [{ name, type: type(name) }];
    });
  return [
    ...typed([detail['pcapDataUrl']], () => 'PCAP'),
    ...typed(listOf(detail['jobAssets']), (name) => (name.endsWith('.txt') ? 'TRACE_ROUTE' : 'SCREENSHOT')),
    ...typed(listOf(detail['playwrightTestTraces']), () => 'TRACE'),
    ...typed(listOf(detail['playwrightTestVideos']), () => 'VIDEO'),
  ].slice(0, 10);
}
