import type { MessagePort } from 'node:worker_threads';
import type { z } from 'zod';
import type { LogEntry, Snippet } from '../../checks/contract/check-type.ts';
import type { FailureCode } from '../../checks/contract/failure.ts';
import type { Lifecycle } from '../../checks/contract/lifecycle.ts';
import type { EgressSettings } from '../../probes/egress/policy.ts';
import type { ClientCertificateMaterial, LeasedRun } from '../../protocol/agent/agent.ts';
import type { ScriptHostSettings } from '../../sandbox/host/script-host.ts';
import type { SandboxFacts } from '../../sandbox/mechanism.ts';
import type { ServiceAccess } from '../client/service-connection.ts';
import type { SealedArtifacts } from '../delivery/artifacts/run-artifacts.ts';
import type { Scrubbed } from '../scrub/scrubber.ts';

/** What a thread that runs checks gets when it starts. */
export interface WorkerStart {
  /** Secrets that are removed from every report, whatever the check. */
  readonly ownSecrets: readonly string[];
  /** Names of the check types to load, of those that run in this kind of thread. */
  readonly checkTypes: readonly string[];
  /** Where runs may connect to. */
  readonly egress: EgressSettings;
  /** Memory of the GateBoard of the thread. */
  readonly gateMemory: SharedArrayBuffer;
  /** Authorities that the thread trusts beside the usual ones, as PEM texts. */
  readonly caCertificates?: readonly string[] | undefined;
  /** What the thread for scripts makes its sandboxes of; no other thread has it. */
  readonly scripts?: ScriptHostSettings | undefined;
  /** Where the thread for scripts gets code bundles; absent where there is no service. */
  readonly service?: ServiceAccess | undefined;
  /** A code bundle on this host's disk, for a run without a service. */
  readonly codeBundle?: { readonly key: string; readonly path: string } | undefined;
}

/** What the main thread knew when it sent orders on; it learns such things after the threads have started. */
export interface RunSituation {
  /** What to add to `monotonicMs` to get the service's time. */
  readonly serviceOffsetMs: number;
  /** The agent's work folder for artifacts; absent where none are kept. */
  readonly artifactFolder?: string | undefined;
}

/** One run as it goes to a probe thread. */
export interface RunOrder {
  readonly runId: string;
  readonly leaseNumber: number;
  readonly resultId: string;
  readonly checkType: string;
  /** Whose run it is; absent where nobody asks. */
  readonly checkId?: string | undefined;
  readonly spec: LeasedRun['check']['spec'];
  readonly variables: Readonly<Record<string, string>>;
  readonly secretNames: readonly string[];
  readonly proxyUrl: string | null;
  readonly clientCertificates: readonly z.output<typeof ClientCertificateMaterial>[];
  /** The runtime of the check, its group or the account. */
  readonly runtimeId?: string | undefined;
  /** The account's snippets, for scripts. */
  readonly snippets?: readonly Snippet[] | undefined;
  /** Whether the run may be repeated should it fail. */
  readonly mayBeRetried?: boolean | undefined;
  /** Scripts before and after the run. */
  readonly lifecycle?: Lifecycle | undefined;
  /** When the agent got the lease, on the monotonic clock that all threads share. */
  readonly receivedAtMs: number;
  /** Limit of the attempt; the check type's own when absent. */
  readonly timeoutMs?: number | undefined;
  /** Whether the log of the run is wanted beside the report. */
  readonly isLogWanted?: boolean | undefined;
}

export type Verdict = 'passed' | 'degraded' | 'failed' | 'error';

/** The little the main thread knows about a finished run; nothing in it comes from outside. */
export interface RunFacts {
  readonly checkType: string;
  readonly verdict: Verdict;
  /** True when the run was stopped before it could find anything out. */
  readonly isAborted: boolean;
  /** True when the run was not begun: it may be given back. */
  readonly isUnstarted?: boolean | undefined;
  /** Why it did not pass, where it did not. */
  readonly failureCode?: FailureCode | undefined;
  /** True when it failed and the run may be repeated: the spool drops such results before others. */
  readonly isAttempt?: boolean | undefined;
  /** By the service's clock. */
  readonly startedAtMs: number;
  readonly startDelayMs: number;
  readonly agentLagMs: number;
  readonly isTimingDoubtful: boolean;
  /** What became of a run that the agent spoilt by being late: good on repetition, or nothing could be found out. */
  readonly spoilt?: 'recovered' | 'starved' | undefined;
  readonly durationMs: number;
  /** What the processes of the run took of the host's memory at most, in bytes; for scripts. */
  readonly peakMemoryBytes?: number | undefined;
  /** Name of what was thrown and where, when the runner broke; without its message. */
  readonly crash?: string | undefined;
  /** The same for the error report: without what may be private. */
  readonly crashError?:
    | { readonly name: string; readonly message: string; readonly stack: string }
    | undefined;
  /** Secret variables whose values are too short to be masked. */
  readonly unmaskedNames: readonly string[];
}

/** A report, ready to be sent: two texts, so that one whose detail is too large can go without it. */
export interface Report {
  readonly runId: string;
  readonly leaseNumber: number;
  readonly resultId: string;
  readonly envelopeJson: Scrubbed<string>;
  readonly detailJson: Scrubbed<string>;
  /** The files the run left, which wait on disk; the envelope tells of them. */
  readonly artifacts?: SealedArtifacts | undefined;
}

/** What comes back from the thread that ran an order. */
export interface FinishedRun extends Report {
  readonly facts: RunFacts;
  readonly log?: readonly LogEntry[] | undefined;
}

export interface Capabilities {
  /** Names of the check types whose runner loaded. */
  readonly loaded: readonly string[];
  /** Which of several ways those found to do their work, by name. */
  readonly backends: Readonly<Record<string, string>>;
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
  /** Runtimes that scripts can use: those whose packages were all found. */
  readonly runtimes?: readonly string[] | undefined;
  /** What contains scripts. */
  readonly sandbox?: SandboxFacts | undefined;
}

export type ToWorker =
  | { readonly type: 'run'; readonly situation: RunSituation; readonly orders: readonly RunOrder[] }
  | { readonly type: 'abort'; readonly runIds: readonly string[] }
  /** Everything that waits in the admission gate comes back unstarted. */
  | { readonly type: 'withdraw' }
  /** The line between a probe thread and the thread for scripts: one end for each. */
  | { readonly type: 'phases'; readonly port: MessagePort }
  /** The thread cleans up and ends. */
  | { readonly type: 'close' };

export type FromWorker =
  | { readonly type: 'ready'; readonly capabilities: Capabilities }
  | { readonly type: 'finished'; readonly runs: readonly FinishedRun[] };
