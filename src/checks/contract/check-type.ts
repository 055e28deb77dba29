import type { LazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import type { z } from 'zod';
import type { AssertableValue } from '../assertable/assertable.ts';
import type { DetailKey, DetailSummary } from '../summary/detail-summary.ts';
import type { OtherBrowserName } from '../tables/browsers.ts';
import type { FormLayout, Template } from './definition/form-layout.ts';
import type { Shorthand } from './definition/shorthand.ts';
import type { RunFacts } from './facts.ts';
import type { PingRules } from './frequency.ts';
import type { DefinitionProblem, GroupDefaults } from './group-defaults.ts';
import type { MaskedValue } from './masking.ts';
import type { Analytics } from './metric.ts';
import type { LoadedRunner } from './outcome.ts';

/** Lanes keep quick probes from waiting behind long scripts. */
export const lanes = ['probe', 'script'] as const;
export type Lane = (typeof lanes)[number];

/** Kinds of check types, in the order of lists. */
export const families = { web: 'Web', network: 'Network', scripts: 'Scripts', jobs: 'Jobs' } as const;
export type Family = keyof typeof families;

/** A test in which an error occurred. */
export interface FailedTest {
  /** The error's message, as the result lists it among its messages. */
  readonly message: string;
  readonly projectName: string;
  readonly testFile: string;
  readonly testTitle: string;
  /** The titles of the enclosing suites, outermost first. */
  readonly suitePath: readonly string[];
}

/**
 * A check type is data plus one function. Everything that other stages need to know about a type is declared here; no
 * stage knows a type's name.
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
  /** The name of its icon on pages, from @primer/octicons. */
  readonly icon: string;
  /** One sentence for the list of types that a user chooses from. */
  readonly purpose: string;
  /** Its heading in that list. */
  readonly family: Family;
  readonly lane: Lane;
  /** Whether a web address alone defines a check: the first check of an account is of this type. */
  readonly isOfAddress?: boolean | undefined;
  /** Whether runs need a browser on the agent's host. */
  readonly needsBrowser?: boolean | undefined;
  /** Whether runs need to send ICMP pings. */
  readonly needsIcmp?: boolean | undefined;
  /** Whether runs query a model. */
  readonly needsModel?: boolean | undefined;
  /** Whether runs use packages of a runtime: only agents that have the check's runtime lease them. */
  readonly needsRuntime?: boolean | undefined;
  /** Whether runs are Playwright suites, which need more than scripts do: package managers, archives. */
  readonly needsSuites?: boolean | undefined;
  /** Whether the log can be read while a run goes: its runner calls `RunContext.allowLiveLog`. */
  readonly hasLiveLog?: true | undefined;
  /** Browsers besides Chromium that a run opens: only agents that have all of them lease it. */
  neededBrowsers?(spec: z.output<Spec>): readonly OtherBrowserName[];
  /** Estimated memory use of a run, in bytes, until measurements are known; for types of the script lane. */
  readonly memoryBytes?: number | undefined;
  /** Hard limit of one attempt, in milliseconds; scripts around it have limits of their own (see lifecycle.ts). */
  readonly timeoutMs: number;
  /** Whether `frequency` 0 (every 10, 20 or 30 seconds) is allowed. */
  readonly isSubMinuteAllowed: boolean;
  /** Whether all its runs share one probe thread, because a target limits its ICMP errors for all of them. */
  readonly isOnOneThread?: true | undefined;
  /** Whether `retryStrategy.onlyOn: NETWORK_ERROR` applies to this type. */
  readonly hasNetworkErrors: boolean;
  /**
   * The type's own fields of a check, with defaults: the API accepts them in addition to the common fields, and the
   * runner gets them.
   */
  readonly spec: Spec;
  /**
   * Returns problems with fields that are valid by their schema. Called when a definition is written; definitions
   * stored before a rule existed still run, and fail at run time.
   */
  definitionProblems?(spec: z.output<Spec>): readonly DefinitionProblem[];
  /**
   * Fields that a body of `PUT /v1/checks/{route}/{id}` must have in addition to its changes. They are validated and
   * documented there, never stored or returned.
   */
  readonly requiredOnUpdate?: z.ZodObject | undefined;
  /** Texts that API responses show, and that "" in a change leaves unchanged. */
  readonly keptWhenEmpty?: readonly MaskedValue[] | undefined;
  /** Fields of the spec whose values API responses never show. */
  readonly masked?: readonly MaskedValue[] | undefined;
  /**
   * Top-level fields of the detail that hold names of the run's artifacts, one or an array; API responses replace them
   * with URLs.
   */
  readonly artifactFields?: readonly string[] | undefined;
  /** Short forms of the type in files that people write. */
  readonly shorthand?: Shorthand | undefined;
  /** How forms show the fields of the spec. */
  readonly form?: FormLayout | undefined;
  /** Templates of new checks. */
  readonly templates?: readonly Template[] | undefined;
  /** Whether runs may present the account's client certificates; no other run receives them. */
  readonly usesClientCertificates?: boolean | undefined;
  /** Whether every run may need the account's snippets. */
  readonly usesSnippets?: boolean | undefined;
  /** Whether setup and teardown scripts of the check and its group run around it; such runs receive snippets too. */
  readonly usesLifecycleScripts?: boolean | undefined;
  readonly groupDefaults?: GroupDefaults | undefined;
  /**
   * Returns the smallest check that proves that a host can run this type: its own fields, for a server that responds to
   * any GET with 200.
   *
   * @param url `http` or `https` with an address and a port, and the path `/`.
   */
  selfTest?(url: URL): z.input<Spec>;
  /** Schema of the result's details. */
  readonly detail: Detail;
  /** The key of a check result under which the API shows the detail. Types may share one. */
  readonly detailKey: DetailKey;
  /** Facts of a detail for programs; absent for types that share none with other types. */
  facts?(detail: z.output<Detail>): RunFacts;
  /** Summary of a detail for people: pages, terminals and comparisons of runs show only this. */
  summary(detail: z.output<Detail>): DetailSummary;
  /** Values of a detail that an assertion can expect again. */
  assertable?(detail: z.output<Detail>): readonly AssertableValue[];
  /** Destination of runs, for types whose definition has neither `request.url` nor `request.hostname`. */
  endpoint?(spec: z.output<Spec>): { readonly hostname: string; readonly port: number | null };
  /** For types that run tests: the tests of a detail in which errors occurred. */
  failedTests?(detail: z.output<Detail>): readonly FailedTest[];
  /** Data that a passed run leaves for later runs of its check, from its detail; null if it leaves nothing new. */
  planOf?(detail: z.output<Detail>): { readonly reason: string; readonly content: unknown } | null;
  /** Metrics of its results over time. */
  readonly analytics: Analytics;
  /**
   * Whether a run may be repeated for the same result, because it changes nothing at its target. The agent repeats runs
   * that its own delays have spoilt; types without this function are never repeated.
   */
  isRepeatable?(spec: z.output<Spec>): boolean;
  /** False for types whose failed runs are never retried, whatever the check's retry strategy. */
  readonly isRetried?: boolean;
  /**
   * For types without runs: their targets send pings, and a missing ping is the failure. Such a type has no `load`, and
   * its checks have no slots and are never leased.
   */
  readonly pings?: PingRules<z.output<Spec>> | undefined;
  /**
   * Loads the runner; absent for types without runs. Lazy: the service never loads native modules or browsers.
   *
   * @throws CapabilityMissing if this host cannot run checks of the type; the agent then does not offer it.
   */
  load?(): Promise<LoadedRunner<z.output<Spec>, z.output<Detail>>>;
}

/** A check type as it is declared: an agent needs the schemas of the types that it runs, and no detail. */
export type DeclaredType<Name extends string, Spec extends z.ZodObject, Detail extends z.ZodType> = Omit<
  CheckType<Name, Spec, Detail>,
  'spec' | 'detail'
> & {
  readonly spec: LazySchema<Spec>;
  readonly detail: LazySchema<Detail>;
};

/** Declares a check type; the runner that `load` returns must fit its schemas. */
export function defineCheckType<
  const Name extends string,
  Spec extends z.ZodObject,
  Detail extends z.ZodType,
>(declared: DeclaredType<Name, Spec, Detail>): CheckType<Name, Spec, Detail> {
  return {
    ...declared,
    get spec() {
      return declared.spec.schema;
    },
    get detail() {
      return declared.detail.schema;
    },
  };
}
