import type { TracerouteEnd } from '@picket/probes/traceroute/traceroute.ts';
import { z } from 'zod';
import { parseHostname } from './target.ts';

const ends = [
  'reached',
  'unreachable',
  'silent',
  'hop-limit',
  'time-limit',
  'unsent',
] as const satisfies readonly TracerouteEnd[];

/** The path to the peer of a failed run, for programs; `traceroute.txt` shows the same to people. */
export const DiagnosedRoute = z
  .object({
    end: z
      .enum(ends)
      .describe(
        'reached: the target responded; unreachable: a router reported that there is no route; silent: no response behind the last hop; hop-limit, time-limit: a limit was reached; unsent: the host of the agent could not send',
      ),
    router: z.string().nullable().describe('Address of the router that reported that there is no route'),
    hops: z
      .array(z.object({ hopNumber: z.int(), ips: z.array(z.string()) }))
      .describe('Addresses that responded at each distance'),
  })
  .meta({ id: 'DiagnosedRoute' });
export type DiagnosedRoute = z.output<typeof DiagnosedRoute>;

/** The field of a detail: null if no path was traced, absent in results of older agents. */
export const RouteField = DiagnosedRoute.nullable().optional();

/** A file of a run, by its content. */
export interface FactFile {
  readonly name: string;
  readonly type: 'PCAP' | 'TRACE_ROUTE' | 'SCREENSHOT' | 'TRACE' | 'VIDEO';
}

/** An error thrown by a script or by one of its tests. */
export interface FactError {
  readonly name: string | null;
  readonly message: string;
  /** Title of the test. */
  readonly test: string | null;
}

/**
 * Facts of a run for programs, independent of its type: causes, analyses, statuses and messages read these and no
 * detail. Facts that a type does not have are null or empty.
 */
export interface RunFacts {
  /** Host that the run contacted, normalized by `parseHostname`. */
  readonly host: string | null;
  readonly port: number | null;
  /** Address that the run contacted. */
  readonly address: string | null;
  readonly url: string | null;
  /** HTTP method, or method of a gRPC service. */
  readonly method: string | null;
  /** `traceparent` header sent to the target. */
  readonly traceparent: string | null;
  /** HTTP status code and reason phrase of the response. */
  readonly status: number | null;
  readonly statusText: string | null;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly requestHeaders: ReadonlyMap<string, string>;
  readonly body: string;
  readonly isBodyCut: boolean;
  readonly redirects: readonly { readonly href: string; readonly status: number }[];
  /** Duration of each phase in milliseconds; empty without a response. */
  readonly phases: ReadonlyMap<string, number>;
  readonly certificate:
    | (ShownCertificate & {
        /** Host that presented it, if there were several. */
        readonly host: string | null;
      })
    | null;
  readonly assertions: readonly {
    readonly source: string;
    readonly property: string;
    readonly comparison: string;
    readonly target: string | number;
    readonly actual?: unknown;
    /** Why it failed. */
    readonly error: string | null;
  }[];
  readonly pings: readonly {
    readonly success: boolean;
    readonly from: string | null;
    readonly error: string | null;
  }[];
  /** Percent. */
  readonly packetLoss: number | null;
  /** Path found by a traceroute monitor. */
  readonly path: {
    readonly isComplete: boolean;
    /** Addresses of each hop. */
    readonly hops: readonly (readonly string[])[];
    /** The hop that has the address of the target and forwards packets. */
    readonly forwardingHop: number | null;
  } | null;
  /** The router that replied in place of the target, or the last one that replied. */
  readonly router: string | null;
  readonly dns: {
    readonly query: string;
    readonly recordType: string;
    readonly returnCode: string;
    readonly answer: string;
    readonly server: string | null;
  } | null;
  /** Path to the target found by the diagnosis of a failure. */
  readonly route: DiagnosedRoute | null;
  /** Error of a script; null for types without scripts. */
  readonly script: {
    readonly errors: readonly FactError[];
    readonly pageErrors: readonly { readonly kind: string; readonly message: string; readonly url: string }[];
  } | null;
  /** Messages of the log. */
  readonly log: readonly string[];
  /** Files that serve as evidence. */
  readonly files: readonly FactFile[];
}

/** Identifying fields of a certificate. */
export interface ShownCertificate {
  readonly subject: string | null;
  readonly issuer: string | null;
  readonly validTo: string;
}

export function certificateWords({ subject, issuer, validTo }: ShownCertificate): string {
  return `${subject ?? 'no name'}, issued by ${issuer ?? 'an unknown authority'}, valid to ${validTo}`;
}

/** Facts of a run without a detail, or with one that this build does not understand. */
export const noFacts: RunFacts = {
  host: null,
  port: null,
  address: null,
  url: null,
  method: null,
  traceparent: null,
  status: null,
  statusText: null,
  headers: new Map(),
  requestHeaders: new Map(),
  body: '',
  isBodyCut: false,
  redirects: [],
  phases: new Map(),
  certificate: null,
  assertions: [],
  pings: [],
  packetLoss: null,
  path: null,
  router: null,
  dns: null,
  route: null,
  script: null,
  log: [],
  files: [],
};

/** Returns the host of a URL, or of a host as written. */
export function hostOf(written: string, parsed: URL | null = URL.parse(written)): string | null {
  return parseHostname(parsed?.hostname || written) ?? null;
}

/** Returns headers by lower-case name, without those that have no value. */
export function headerFacts(headers: Readonly<Record<string, string>> | null): ReadonlyMap<string, string> {
  const entries = Object.entries(headers ?? {}).filter(([, value]) => value !== '');
  return new Map(entries.map(([name, value]) => [name.toLowerCase(), value]));
}

export function phaseFacts(phases: Readonly<Record<string, number>> | null): ReadonlyMap<string, number> {
  return new Map(Object.entries(phases ?? {}));
}

type Entries = readonly { readonly msg: string }[];

export function logFacts(log: Entries | { readonly request: Entries } | null): readonly string[] {
  const entries = log === null ? [] : 'request' in log ? log.request : log;
  return entries.map(({ msg }) => msg);
}
