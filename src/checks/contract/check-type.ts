import type { z } from 'zod';
import type { ScriptHost } from '../../sandbox/host/contract.ts';
import type { LifecycleScripts } from '../../sandbox/lifecycle/lifecycle-scripts.ts';
import type { ModelAccess } from '../model/access.ts';
import type { ModelOutcome } from '../model/client.ts';
import type { DaySpending } from '../model/spending.ts';
import type { DetailKey, DetailSummary } from '../summary/detail-summary.ts';
import type { Failure } from './failure.ts';
import type { FormLayout } from './form-layout.ts';
import type { PingRules } from './frequency.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { MaskedValue } from './masking.ts';
import type { Analytics } from './metric.ts';

/** Lanes keep quick probes from waiting behind long scripts. */
export const lanes = ['probe', 'script'] as const;
export type Lane = (typeof lanes)[number];

/** One line of the log that travels with a result (`jobLog`). */
export interface LogEntry {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly msg: string;
  readonly level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
}

export interface RunLog {
  /** @param ageMs how long ago it was, for what is written down later. */
  write(level: LogEntry['level'], msg: string, ageMs?: number): void;
  readonly entries: readonly LogEntry[];
  /** Takes back everything that was written: it may hold a secret that nobody knows. */
  withdraw(): void;
  /**
   * The log of what comes before or after: with the same clock, and bounds of its own. The same at every
   * call.
   */
  part(stage: 'setup' | 'teardown'): RunLog;
}

/**
 * A client certificate for targets whose host matches. PEM texts; `host` may be a glob such as
 * `*.example.com`.
 */
export interface ClientCertificate {
  readonly host: string;
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | null | undefined;
  readonly passphrase?: string | null | undefined;
}

/** Where a run gets addresses of host names from; see src/probes/resolver.ts. */
export interface NameResolver {
  resolve(
    hostname: string,
    family: 4 | 6 | 'any',
  ): Promise<readonly { readonly address: string; readonly family: 4 | 6 }[]>;
  /**
   * The name servers of this location, in the order they are asked; absent when the resolver knows of none.
   */
  nameServers?(): readonly {
    readonly hostname: string;
    readonly address: string;
    readonly family: 4 | 6;
    readonly port: number;
  }[];
}

/** What a run may connect to; see src/probes/egress/policy.ts. */
export interface EgressRules {
  /** Why a connection to that resolved address is refused, naming the rule; undefined when it may be made. */
  refusal(destination: {
    readonly hostname: string;
    readonly address?: string | undefined;
    readonly port?: number | undefined;
  }): string | undefined;
  /** Why a name is not to be looked up at the name servers of this location; undefined when it may be. */
  lookupRefusal(hostname: string): string | undefined;
}

/** A file a run leaves behind as evidence: a capture, a trace, a screenshot. */
export interface ArtifactFile {
  /** Unique within the run; letters, digits, `.`, `_` and `-`, with folders apart by `/`. */
  readonly name: string;
  readonly contentType: string;
  /** The bytes themselves, or a regular file that the run made, by its real path: it is copied. */
  readonly content: Uint8Array | { readonly path: string };
}

/**
 * Takes the artifacts of a run. They are scrubbed and uploaded after the run, and wait on disk until then.
 */
export interface ArtifactSink {
  /**
   * Keeps a file. Resolves once it is safe; the caller may then forget it.
   *
   * @returns false when it cannot be kept (too large, disk full, too many). The result says so by itself: a
   *   lost artifact never costs the verdict.
   */
  add(file: ArtifactFile): Promise<boolean>;
}

/** A piece of JavaScript of the account that scripts load as `./snippets/<name>.js`. */
export interface Snippet {
  readonly name: string;
  readonly script: string;
}

/** How the times of a run came about, for runs that measured something. */
export interface Measurement {
  /**
   * Whose stamps the times are made of: the kernel's, those of events in a thread that may have been late, or
   * those of a process of the run's own, which no thread of the agent can make late.
   */
  readonly clock: 'kernel' | 'event' | 'process';
  /**
   * What the agent itself spent between the phases, in milliseconds; part of no phase and not of the response
   * time.
   */
  readonly overheadMs: number;
  /** How much later than the kernel the thread noticed a step, at most, in milliseconds. */
  readonly lagMs: number;
  /**
   * By how much the kernel's stamps may be off in all, in milliseconds: what the kernel says of threads that were kept from
   * running when they were to take one. Absent where nothing is known.
   */
  readonly doubtMs?: number | undefined;
  /**
   * For how long the run had nothing to do but to wait for the other side, as far as that is known, in
   * milliseconds.
   */
  readonly waitedMs?: number | undefined;
  /**
   * What the thread has worked on what the target sent, in CPU milliseconds; where it was late because of
   * that, the target was the cause.
   */
  readonly workMs?: number | undefined;
}

/** What a run may use besides its spec. Everything a runner needs comes through here; it reads no globals. */
export interface RunContext {
  /** Aborts when the lease is lost, the run is cancelled or the deadline has passed. */
  readonly signal: AbortSignal;
  /** How long the run may take from now, scripts around it included, in milliseconds. */
  readonly timeoutMs: number;
  readonly log: RunLog;
  /**
   * Values for `{{NAME}}` templates: account, group and check variables, already merged, and built-in ones.
   */
  readonly variables: Readonly<Record<string, string>>;
  /** The location's proxy for outgoing requests, or null. */
  readonly proxyUrl: string | null;
  readonly clientCertificates: readonly ClientCertificate[];
  readonly resolver: NameResolver;
  /** Asked right before every connection and every packet's destination. */
  readonly egress: EgressRules;
  /** Where evidence goes; absent where nothing keeps any (`picket run` without a folder for it). */
  readonly artifacts?: ArtifactSink | undefined;
  /** What runs scripts here; absent where nothing does. */
  readonly scripts?: ScriptHost | undefined;
  /** The runtime for scripts whose check names none; absent: the newest that is there. */
  readonly runtimeId?: string | undefined;
  /** The account's snippets, for scripts. */
  readonly snippets?: readonly Snippet[] | undefined;
  /** Scripts before and after the operation of the run, for types with `usesLifecycleScripts`. */
  readonly lifecycle?: Lifecycle | undefined;
  /** What runs those; absent where nothing does. */
  readonly phases?: LifecycleScripts | undefined;
  /** The model that runs may ask, and what all runs of this day have spent; absent where there is none. */
  readonly model?:
    | {
        readonly access: ModelAccess;
        readonly day: DaySpending;
        /** Hears of every question. */
        readonly onOutcome?: (outcome: ModelOutcome) => void;
      }
    | undefined;
  /** What an earlier run of the check left for later ones (`planOf`), and its version. */
  readonly plan?: { readonly version: number; readonly content: unknown } | null | undefined;
  /** A text without the secrets of the run and the agent, in whatever form they stand there. */
  readonly mask?: ((text: string) => string) | undefined;
  /** Pictures that the script compares with are made anew instead. */
  readonly updatesSnapshots?: boolean | undefined;
  /** Which of the variables are secret, and stay so when a script gives them another value. */
  readonly secretNames?: readonly string[] | undefined;
}

/**
 * What `run()` returns. An unhealthy target is a returned failure with an owner; a throw means that we are
 * broken.
 */
export interface Outcome<Detail> {
  /** Absent when the run passed (or is only degraded). */
  readonly failure?: Failure | undefined;
  /** The measured operation in milliseconds, without set-up and system time. */
  readonly responseTimeMs: number;
  /** Over the degraded threshold; null for types without thresholds. */
  readonly isDegraded: boolean | null;
  /** Over the maximum response time; null for types without thresholds. */
  readonly overMaxResponseTime: boolean | null;
  /** Raw messages, one for each thing that went wrong; they become error groups. */
  readonly errorMessages: readonly string[];
  /**
   * By how many milliseconds the response time would have had to be shorter for the better verdict; only
   * where nothing but the response time stands against it. `judge` computes it.
   */
  readonly timeExcessMs?: number | undefined;
  readonly measurement?: Measurement | undefined;
  /** When the first certificate of the target's chain expires, in epoch milliseconds; absent without TLS. */
  readonly certificateExpiresAt?: number | undefined;
  /** What the processes of the run took of the host's memory at most, in bytes; for runs that have some. */
  readonly peakMemoryBytes?: number | undefined;
  /** Values that turned out to be secret only while the run went on; like all secrets they must not leave. */
  readonly secrets?: readonly string[] | undefined;
  readonly detail: Detail;
}

/** This host cannot run checks of some type. A run that meets it anyway ends with that failure. */
export class CapabilityMissing extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'CapabilityMissing';
    this.failure = failure;
  }
}

export type Runner<Spec, Detail> = (spec: Spec, context: RunContext) => Promise<Outcome<Detail>>;

/** A runner that works on this host. */
export interface LoadedRunner<Spec, Detail> {
  readonly run: Runner<Spec, Detail>;
  /** Which of several ways to do its work it found, in a few words; absent where there is only one. */
  readonly backend?: string | undefined;
}

/** A test in which an error occurred. */
export interface FailedTest {
  /** The error's message, as the result lists it among its messages. */
  readonly message: string;
  readonly projectName: string;
  readonly testFile: string;
  readonly testTitle: string;
  /** The titles of the suites around it, outermost first. */
  readonly suitePath: readonly string[];
}

/** What is wrong with a field of a definition. */
export interface DefinitionProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * What groups of checks can set for all their checks of a type, in addition to what they can set for any
 * check.
 */
export interface GroupDefaults {
  /** The field of a group that holds them. */
  readonly field: string;
  /** An object whose fields all have defaults. */
  readonly schema: z.ZodObject;
  /** Fields of the group whose values answers never show. */
  readonly masked: readonly MaskedValue[];
  /** What is wrong with defaults that are valid by their schema, by their own fields. */
  problems?(defaults: Readonly<Record<string, unknown>>): readonly DefinitionProblem[];
  /** A check's definition with the defaults of its group. */
  apply(
    definition: Readonly<Record<string, unknown>>,
    defaults: Readonly<Record<string, unknown>>,
  ): Record<string, unknown>;
  /** Variables that the defaults give to the checks. */
  variables(defaults: Readonly<Record<string, unknown>>): Record<string, string>;
}

/**
 * A check type is data plus one function. What any other stage must know about a type stands here; no stage
 * knows a type's name.
 */
export interface CheckType<
  Name extends string = string,
  Spec extends z.ZodObject = z.ZodObject,
  Detail extends z.ZodType = z.ZodType,
> {
  /** The `checkType` of the API. */
  readonly name: Name;
  /** Path segment of the typed routes: `/v1/checks/{route}`. */
  readonly route: string;
  readonly title: string;
  readonly lane: Lane;
  /** Whether runs need a browser on the agent's host. */
  readonly needsBrowser?: boolean | undefined;
  /** Whether runs need a way to ping. */
  readonly needsIcmp?: boolean | undefined;
  /** Whether runs need a model to ask. */
  readonly needsModel?: boolean | undefined;
  /** Whether runs use packages of a runtime: only agents that have the check's runtime get them. */
  readonly needsRuntime?: boolean | undefined;
  /** Whether runs are Playwright suites, which need more than scripts do: package managers, archives. */
  readonly needsSuites?: boolean | undefined;
  /**
   * What a run takes of the host's memory, in bytes, until it is known better; for types of the lane of
   * scripts.
   */
  readonly memoryBytes?: number | undefined;
  /**
   * Hard limit of one attempt, in milliseconds; scripts around it have limits of their own (see
   * lifecycle.ts).
   */
  readonly timeoutMs: number;
  /** Whether `frequency` 0 (every 10, 20 or 30 seconds) is allowed. */
  readonly isSubMinuteAllowed: boolean;
  /** Whether `retryStrategy.onlyOn: NETWORK_ERROR` has a meaning for this type. */
  readonly hasNetworkErrors: boolean;
  /**
   * The type's own fields of a check, with defaults: what the API accepts in addition to the common fields,
   * and what runs.
   */
  readonly spec: Spec;
  /**
   * What is wrong with fields that are valid by their schema. Asked when a definition is written; one that
   * was stored before the rule was made still runs, and fails by itself.
   */
  definitionProblems?(spec: z.output<Spec>): readonly DefinitionProblem[];
  /**
   * Fields that a body of `PUT /v1/checks/{route}/{id}` has to have in addition to what it changes. They are
   * validated and documented there, never stored or shown.
   */
  readonly requiredOnUpdate?: z.ZodObject | undefined;
  /** Texts that answers show and that "" in a change leaves as they are. */
  readonly keptWhenEmpty?: readonly MaskedValue[] | undefined;
  /** Fields of the spec whose values answers never show. */
  readonly masked?: readonly MaskedValue[] | undefined;
  /**
   * Top-level fields of the detail that hold names of the run's artifacts, one or an array; answers show URLs
   * in their place.
   */
  readonly artifactFields?: readonly string[] | undefined;
  /** How pages show the fields of the spec in forms. */
  readonly form?: FormLayout | undefined;
  /** Whether runs may present the account's client certificates; no other run is given them. */
  readonly usesClientCertificates?: boolean | undefined;
  /** Whether every run may need the account's snippets. */
  readonly usesSnippets?: boolean | undefined;
  /** Whether setup and teardown scripts of the check and its group run around it; snippets come with them. */
  readonly usesLifecycleScripts?: boolean | undefined;
  readonly groupDefaults?: GroupDefaults | undefined;
  /**
   * The smallest check that proves a host can run this type: its own fields, for a server that answers any
   * GET with 200.
   *
   * @param url `http` or `https` with an address and a port, and the path `/`.
   */
  selfTest?(url: URL): z.input<Spec>;
  /** What a run of this type finds out. */
  readonly detail: Detail;
  /** The key of a check result under which the API shows the detail; absent where it shows it elsewhere. */
  readonly detailKey?: DetailKey;
  /** What people read of a detail: pages of runs and their comparison show it. */
  summary?(detail: z.output<Detail>): DetailSummary;
  /** Where runs go, for types whose definition does not say so in `request.url` or `request.hostname`. */
  endpoint?(spec: z.output<Spec>): { readonly hostname: string; readonly port: number | null };
  /** For types that run tests: those in which errors of a detail occurred. */
  failedTests?(detail: z.output<Detail>): readonly FailedTest[];
  /** What a run leaves for later runs of its check, in a detail of a run that passed; null where it leaves nothing new. */
  planOf?(detail: z.output<Detail>): { readonly reason: string; readonly content: unknown } | null;
  /** What is followed of its results over time. */
  readonly analytics: Analytics;
  /**
   * Whether a run may be made a second time for one result, because it changes nothing at its target. The
   * agent repeats a run that it spoilt by being late itself; a type that does not say is never repeated.
   */
  isRepeatable?(spec: z.output<Spec>): boolean;
  /** False for types whose runs are never made a second time, whatever the check says about retries. */
  readonly isRetried?: boolean;
  /**
   * For types that nobody runs: their targets call in by themselves, and silence is the failure. Such a type
   * has no `load`, its checks have no slots, and nothing of them is ever leased.
   */
  readonly pings?: PingRules<z.output<Spec>> | undefined;
  /**
   * Loads the runner; absent for types that nobody runs. Lazy: the service never loads native modules or
   * browsers.
   *
   * @throws CapabilityMissing where this host cannot run checks of the type; the agent then does not offer
   *   it.
   */
  load?(): Promise<LoadedRunner<z.output<Spec>, z.output<Detail>>>;
}

/** Declares a check type; the runner that `load` returns must fit its schemas. */
export function defineCheckType<
  const Name extends string,
  Spec extends z.ZodObject,
  Detail extends z.ZodType,
>(type: CheckType<Name, Spec, Detail>): CheckType<Name, Spec, Detail> {
  return type;
}
