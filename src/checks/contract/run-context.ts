import type { EgressPolicy } from '@picket/probes/egress/policy.ts';
import type { ScriptHost } from '@picket/sandbox/host/contract.ts';
import type { LifecycleScripts } from '@picket/sandbox/lifecycle/lifecycle-scripts.ts';
import type { KerberosSettings } from '../kerberos/settings.ts';
import type { ModelAccess } from '../model/access.ts';
import type { ModelOutcome } from '../model/client.ts';
import type { DaySpending } from '../model/spending.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { RunLog } from './run-log.ts';

/** A client certificate for targets whose host matches. PEM texts; `host` may be a glob such as `*.example.com`. */
export interface ClientCertificate {
  readonly host: string;
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | null | undefined;
  readonly passphrase?: string | null | undefined;
}

/** Resolves host names for a run; see src/probes/resolver.ts. */
export interface NameResolver {
  resolve(
    hostname: string,
    family: 4 | 6 | 'any',
  ): Promise<readonly { readonly address: string; readonly family: 4 | 6 }[]>;
  /** The name servers of this location, in query order; absent if the resolver knows of none. */
  nameServers?(): readonly {
    readonly hostname: string;
    readonly address: string;
    readonly family: 4 | 6;
    readonly port: number;
  }[];
}

/** A file a run leaves behind as evidence: a capture, a trace, a screenshot. */
export interface ArtifactFile {
  /** Unique within the run; letters, digits, `.`, `_` and `-`, with `/` between folders. */
  readonly name: string;
  readonly contentType: string;
  /** The bytes themselves, or the real path of a regular file that the run created: the file is copied. */
  readonly content: Uint8Array | { readonly path: string };
}

/** Receives the artifacts of a run. They are scrubbed and uploaded after the run, and stay on disk until then. */
export interface ArtifactSink {
  /**
   * Stores a file. Resolves once it is safe; the caller may then discard it.
   *
   * @returns false if it cannot be stored (too large, disk full, too many). The result reports this on its own: a lost
   * artifact never costs the verdict.
   */
  add(file: ArtifactFile): Promise<boolean>;
}

/** A piece of JavaScript of the account that scripts load as `./snippets/<name>.js`. */
export interface Snippet {
  readonly name: string;
  readonly script: string;
}

/** Everything that a run may use besides its spec. A runner gets all it needs from here; it reads no globals. */
export interface RunContext {
  /** Aborts if the lease is lost, the run is cancelled or the deadline has passed. */
  readonly signal: AbortSignal;
  /** Remaining time of the run, scripts around it included, in milliseconds. */
  readonly timeoutMs: number;
  readonly log: RunLog;
  /** Values for `{{NAME}}` templates: account, group and check variables, already merged, and built-in ones. */
  readonly variables: Readonly<Record<string, string>>;
  /** The location's proxy for outgoing requests, or null. */
  readonly proxyUrl: string | null;
  readonly clientCertificates: readonly ClientCertificate[];
  readonly resolver: NameResolver;
  /** Checked immediately before every connection and for every packet's destination. */
  readonly egress: EgressPolicy;
  /** Where evidence goes; absent if evidence is discarded (`picket run` without an artifact folder). */
  readonly artifacts?: ArtifactSink | undefined;
  /** Runs scripts on this host; absent if the host cannot. */
  readonly scripts?: ScriptHost | undefined;
  /** The runtime for scripts whose check names none; absent: the newest one installed. */
  readonly runtimeId?: string | undefined;
  /** The account's snippets, for scripts. */
  readonly snippets?: readonly Snippet[] | undefined;
  /** Scripts before and after the operation of the run, for types with `usesLifecycleScripts`. */
  readonly lifecycle?: Lifecycle | undefined;
  /** Runs those scripts; absent if the host cannot. */
  readonly phases?: LifecycleScripts | undefined;
  /** The model that runs may query, and today's spending of all runs; absent without a configured model. */
  readonly model?:
    | {
        readonly access: ModelAccess;
        readonly day: DaySpending;
        /** Called after every query. */
        readonly onOutcome?: (outcome: ModelOutcome) => void;
      }
    | undefined;
  /** Data that an earlier run of the check left for later ones (`planOf`), and its version. */
  readonly plan?: { readonly version: number; readonly content: unknown } | null | undefined;
  /** Removes the secrets of the run and the agent from a text, in all their encodings. */
  readonly mask?: ((text: string) => string) | undefined;
  /** The Kerberos identity of the agent, for requests that log in with it; absent if it has none. */
  readonly kerberos?: KerberosSettings | undefined;
  /** Whether to update the script's reference pictures instead of comparing with them. */
  readonly updatesSnapshots?: boolean | undefined;
  /** Names of the secret variables; they stay secret if a script changes their values. */
  readonly secretNames?: readonly string[] | undefined;
}
