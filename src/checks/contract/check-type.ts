import type { z } from 'zod';
import type { DetailKey, DetailSummary } from '../summary/detail-summary.ts';
import type { FormLayout } from './definition/form-layout.ts';
import type { RunFacts } from './facts.ts';
import type { PingRules } from './frequency.ts';
import type { DefinitionProblem, GroupDefaults } from './group-defaults.ts';
import type { MaskedValue } from './masking.ts';
import type { Analytics } from './metric.ts';
import type { LoadedRunner } from './outcome.ts';

/** Lanes keep quick probes from waiting behind long scripts. */
export const lanes = ['probe', 'script'] as const;
export type Lane = (typeof lanes)[number];

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
  /** Whether all its runs are on one probe thread, since they share what a target can take. */
  readonly isOnOneThread?: true | undefined;
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
  /** The key of a check result under which the API shows the detail. Types may share one. */
  readonly detailKey: DetailKey;
  /** Facts of a detail for programs; absent for types whose details say nothing that other types say, too. */
  facts?(detail: z.output<Detail>): RunFacts;
  /** What people read of a detail: pages, terminals and comparisons of runs show this and nothing else. */
  summary(detail: z.output<Detail>): DetailSummary;
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
