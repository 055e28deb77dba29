import type { FailureCode } from '@picket/checks/contract/failure.ts';
import type { RunContext } from '@picket/checks/contract/run-context.ts';
import type { LogEntry } from '@picket/checks/contract/run-log.ts';
import type { LeasedRun, LeaseRef } from '@picket/protocol/agent/agent.ts';
import type { ReportedArtifact } from '@picket/protocol/results/artifact.ts';
import type { SandboxFacts } from '@picket/sandbox/mechanism.ts';
import type { ReportTexts } from '../scrub/scrubber.ts';

/**
 * What the stages of the agent hand to each other. A lease becomes a RunOrder (leasing/), which an Executor
 * turns into a FinishedRun (runners/); its Report is sent (delivery/), its facts are counted and logged.
 */

/** What names one attempt of a run, from its lease to its result. */
export interface RunIds extends LeaseRef {
  readonly resultId: string;
}

/** What the service says about a run and its runner is given as it is. */
export type RunInput = Pick<
  RunContext,
  | 'variables'
  | 'proxyUrl'
  | 'clientCertificates'
  | 'runtimeId'
  | 'snippets'
  | 'lifecycle'
  | 'updatesSnapshots'
  | 'plan'
> & { readonly secretNames: readonly string[] };

/** One run as it goes to a probe thread. */
export interface RunOrder extends RunIds {
  readonly checkType: string;
  /** Whose run it is; absent where nobody asks. */
  readonly checkId?: string | undefined;
  readonly spec: LeasedRun['check']['spec'];
  readonly input: RunInput;
  /** Whether the run may be repeated should it fail. */
  readonly mayBeRetried?: boolean | undefined;
  /** When the agent got the lease, on the monotonic clock that all threads share. */
  readonly receivedAtMs: number;
  /** Limit of the attempt; the check type's own when absent. */
  readonly timeoutMs?: number | undefined;
  /** Whether the log of the run is wanted in addition to the report. */
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
  /**
   * What became of a run that the agent spoilt by being late: good on repetition, or nothing could be found
   * out.
   */
  readonly spoilt?: 'recovered' | 'starved' | undefined;
  readonly durationMs: number;
  /** What the processes of the run took of the host's memory at most, in bytes; for scripts. */
  readonly peakMemoryBytes?: number | undefined;
  /** Name of what was thrown and where, when the runner crashed; without its message. */
  readonly crash?: string | undefined;
  /** The same for the error report: without what may be private. */
  readonly crashError?:
    | { readonly name: string; readonly message: string; readonly stack: string }
    | undefined;
  /** Secret variables whose values are too short to be masked. */
  readonly unmaskedNames: readonly string[];
}

/** An artifact that is ready to be sent. */
export interface SealedArtifact {
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** The artifacts of a finished run: what its result says of them, and the files. */
export interface SealedArtifacts {
  readonly folder: string;
  readonly files: readonly SealedArtifact[];
  readonly reported: readonly ReportedArtifact[];
}

/** A report, ready to be sent. */
export interface Report extends RunIds, ReportTexts {
  /** The files the run left, which wait on disk; the envelope lists them. */
  readonly artifacts?: SealedArtifacts | undefined;
}

/** What comes back from the thread that ran an order. */
export interface FinishedRun {
  readonly report: Report;
  readonly facts: RunFacts;
  readonly log?: readonly LogEntry[] | undefined;
}

export interface Capabilities {
  /** Names of the check types whose runner loaded. */
  readonly loaded: readonly string[];
  /** Which of several ways those found to do their work, by name. */
  readonly backends: Readonly<Record<string, string>>;
  readonly failed: readonly {
    readonly name: string;
    readonly reason: string;
    /** The browser that it needs is there, and does not start. */
    readonly isBrowserBroken?: boolean;
  }[];
  /** Runtimes that scripts can use: those whose packages were all found. */
  readonly runtimes?: readonly string[] | undefined;
  /** What contains scripts. */
  readonly sandbox?: SandboxFacts | undefined;
}

/** A run ended the thread that it had to itself: it is this run that threads do not survive. */
export class RunCrashes extends Error {}

/** What runs the orders of a lane. */
export interface Executor {
  readonly checkTypes: readonly string[];
  /** False while nothing could run an order: what was leased then would only be lost. */
  readonly isReady: boolean;
  run(order: RunOrder, signal: AbortSignal): Promise<FinishedRun>;
  /** What more the host has room for; whatever the lane takes when absent. */
  readonly room?: Room;
  /** Has runs that it holds and has not begun come back, marked `isUnstarted`. */
  withdrawWaiting?(): void;
}

/** How many more runs a host has room for, of any types but those that are full. */
export interface Room {
  readonly count: number;
  /** Names of check types of which not even one more fits. */
  readonly fullTypes: readonly string[];
}
