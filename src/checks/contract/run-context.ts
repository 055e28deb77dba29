import type { EgressPolicy } from '@picket/probes/egress/policy.ts';
import type { ScriptHost } from '@picket/sandbox/host/contract.ts';
import type { LifecycleScripts } from '@picket/sandbox/lifecycle/lifecycle-scripts.ts';
import type { ModelAccess } from '../model/access.ts';
import type { ModelOutcome } from '../model/client.ts';
import type { DaySpending } from '../model/spending.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { RunLog } from './run-log.ts';

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
  readonly egress: EgressPolicy;
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
  /** The model that runs may ask, and what all runs of this day have spent; absent without a configured model. */
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
