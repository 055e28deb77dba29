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

/** The path to the peer of a failed run, as programs read it; `traceroute.txt` shows the same to people. */
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

/** The field of a detail: null where no path was traced, absent in results of older agents. */
export const RouteField = DiagnosedRoute.nullable().optional();

/** A file that a run left, by what it shows. */
export interface FactFile {
  readonly name: string;
  readonly type: 'PCAP' | 'TRACE_ROUTE' | 'SCREENSHOT' | 'TRACE' | 'VIDEO';
}

/** What a script threw, or a test of it. */
export interface FactError {
  readonly name: string | null;
  readonly message: string;
  /** The title of the test. */
  readonly test: string | null;
}

/**
 * What programs read of a run, whatever its type: causes, analyses, statuses and messages read this and no detail. What a
 * type does not have is null or empty.
 */
export interface RunFacts {
  /** Where the run went, as `parseHostname` has it. */
  readonly host: string | null;
  readonly port: number | null;
  /** The address that was contacted. */
  readonly address: string | null;
  readonly url: string | null;
  /** The method of HTTP, or of a gRPC service. */
  readonly method: string | null;
  /** What the target got as `traceparent`. */
  readonly traceparent: string | null;
  /** The HTTP status of the answer, and the words with it. */
  readonly status: number | null;
  readonly statusText: string | null;
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly requestHeaders: ReadonlyMap<string, string>;
  readonly body: string;
  readonly isBodyCut: boolean;
  readonly redirects: readonly { readonly href: string; readonly status: number }[];
  /** Milliseconds of each phase; empty where there was no answer. */
  readonly phases: ReadonlyMap<string, number>;
  readonly certificate:
    | (ShownCertificate & {
        /** The host that showed it, where there were several. */
        readonly host: string | null;
      })
    | null;
  readonly assertions: readonly {
    readonly source: string;
    readonly property: string;
    readonly comparison: string;
    readonly target: string | number;
    readonly actual?: unknown;
    /** Why it did not hold. */
    readonly error: string | null;
  }[];
  readonly pings: readonly {
    readonly success: boolean;
    readonly from: string | null;
    readonly error: string | null;
  }[];
  /** Percent. */
  readonly packetLoss: number | null;
  /** The path that a traceroute monitor found. */
  readonly path: {
    readonly isComplete: boolean;
    /** The addresses of each hop. */
    readonly hops: readonly (readonly string[])[];
    /** The hop that has the address of the target and forwards packets. */
    readonly forwardingHop: number | null;
  } | null;
  /** The router that answered in place of the target, or last. */
  readonly router: string | null;
  readonly dns: {
    readonly query: string;
    readonly recordType: string;
    readonly returnCode: string;
    readonly answer: string;
    readonly server: string | null;
  } | null;
  /** The path to the target as the diagnosis of a failure found it. */
  readonly route: DiagnosedRoute | null;
  /** What went wrong in a script; null for types without scripts. */
  readonly script: {
    readonly errors: readonly FactError[];
    readonly pageErrors: readonly { readonly kind: string; readonly message: string; readonly url: string }[];
  } | null;
  /** The messages of the log. */
  readonly log: readonly string[];
  /** The files that show something. */
  readonly files: readonly FactFile[];
}

/** A certificate, by what tells it from others. */
export interface ShownCertificate {
  readonly subject: string | null;
  readonly issuer: string | null;
  readonly validTo: string;
}

export function certificateWords({ subject, issuer, validTo }: ShownCertificate): string {
  return `${subject ?? 'no name'}, issued by ${issuer ?? 'an unknown authority'}, valid to ${validTo}`;
}

/** A run without a detail, or with one that this build does not understand. */
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

/** The host of a URL, or a host as it was written. */
export function hostOf(written: string): string | null {
  return parseHostname(URL.parse(written)?.hostname || written) ?? null;
}

/** Headers by their names in lower case, those without a value left out. */
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
