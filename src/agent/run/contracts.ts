import type { FailureCode } from '@picket/checks/contract/failure.ts';
import type { RunContext } from '@picket/checks/contract/run-context.ts';
import type { LogEntry } from '@picket/checks/contract/run-log.ts';
import type { LeasedRun, LeaseRef } from '@picket/protocol/agent/agent.ts';
import type { ReportedArtifact } from '@picket/protocol/results/artifact.ts';
import type { SandboxFacts } from '@picket/sandbox/mechanism.ts';
import type { ReportTexts } from '../scrub/report-texts.ts';
import type { Scrubbed } from '../scrub/scrubber.ts';
import type { StopSignal } from './run-stop.ts';

/**
 * Data that the stages of the agent pass to each other. A lease becomes a RunOrder (leasing/), which an Executor turns
 * into a FinishedRun (runners/); its Report is sent (delivery/), its facts are counted and logged.
 */

/** Identifies one attempt of a run, from its lease to its result. */
export interface RunIds extends LeaseRef {
  readonly resultId: string;
}

/** Input from the service that is passed to the runner unchanged. */
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
> & {
  readonly secretNames: readonly string[];
  /** Further values to mask, such as those that a secret had before. */
  readonly otherSecrets?: readonly string[] | undefined;
};

/** One run as it is sent to a probe thread. */
export interface RunOrder extends RunIds {
  readonly checkType: string;
  /** The check it belongs to; absent if not needed. */
  readonly checkId?: string | undefined;
  readonly spec: LeasedRun['check']['spec'];
  readonly input: RunInput;
  /** Variables whose value is a secret of this location, with the name of that secret. */
  readonly valuesFrom?: Readonly<Record<string, string>> | undefined;
  /** Whether the run may be repeated if it fails. */
  readonly mayBeRetried?: boolean | undefined;
  /** Whether its report may wait for others if it passes, as the check did here last time. */
  readonly mayReportLater?: boolean | undefined;
  /**
   * When the agent got the lease, or when its slot is if that is later, on the monotonic clock that all threads share.
   * An executor that `startsAtSlot` does not start it before.
   */
  readonly receivedAtMs: number;
  /** Time limit of the attempt; defaults to that of the check type. */
  readonly timeoutMs?: number | undefined;
  /** Whether to return the log of the run in addition to the report. */
  readonly isLogWanted?: boolean | undefined;
}

export type Verdict = 'passed' | 'degraded' | 'failed' | 'error';

/** Facts that the main thread gets about a finished run; they contain no data from targets or scripts. */
export interface RunFacts {
  readonly checkType: string;
  readonly verdict: Verdict;
  /** True if the run was stopped before it had any findings. */
  readonly isAborted: boolean;
  /** True if the run was not started: it may be given back. */
  readonly isUnstarted?: boolean | undefined;
  /** Why it did not pass; absent if it passed. */
  readonly failureCode?: FailureCode | undefined;
  /** True if it failed and the run may be repeated: the spool drops such results before others. */
  readonly isAttempt?: boolean | undefined;
  /** By the service's clock. */
  readonly startedAtMs: number;
  readonly startDelayMs: number;
  readonly agentLagMs: number;
  readonly isTimingDoubtful: boolean;
  /**
   * Outcome of a run that the agent's own lateness spoilt: `recovered` by a second try, or `starved`, without a usable
   * result.
   */
  readonly spoilt?: 'recovered' | 'starved' | undefined;
  readonly durationMs: number;
  /** When it ended, on the monotonic clock; absent without a runner. */
  readonly endedAtMs?: number | undefined;
  /** Peak memory of the run's processes, in bytes; for scripts. */
  readonly peakMemoryBytes?: number | undefined;
  /** Name and stack of the error if the runner crashed; without its message. */
  readonly crash?: string | undefined;
  /** The same for the error report: without parts that may be private. */
  readonly crashError?:
    | { readonly name: string; readonly message: string; readonly stack: string }
    | undefined;
  /** Secret variables whose values are too short to be masked. */
  readonly unmaskedNames: readonly string[];
}

/** Facts about a run that the main thread keeps from its lease. */
export interface RunOrigin {
  /** When the run was due, by the service's clock. */
  readonly slotAtMs: number;
  readonly checkId: string;
  /** Whether its report may wait for others if the check passed last time, too. */
  readonly mayReportLater: boolean;
}

/** An artifact ready to be sent. */
export interface SealedArtifact {
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** The artifacts of a finished run: their entries in the result, and the files. */
export interface SealedArtifacts {
  readonly folder: string;
  readonly files: readonly SealedArtifact[];
  readonly reported: readonly ReportedArtifact[];
}

/** A report ready to be sent. */
export interface Report extends RunIds, ReportTexts {
  /** Files of the run, waiting on disk; the envelope lists them. */
  readonly artifacts?: SealedArtifacts | undefined;
}

/** Result of an order, as its thread returns it. */
export interface FinishedRun {
  readonly report: Report;
  readonly facts: RunFacts;
  readonly log?: readonly LogEntry[] | undefined;
}

/** Where the service has the log of a running script up to. */
export interface TailPlace {
  readonly runId: string;
  /** The lease to which the line belongs; under another lease the log begins anew. */
  readonly leaseNumber: number;
  readonly nextLine: number;
  /** No more lines are sent under this lease. */
  readonly isFull: boolean;
}

/** The next lines of one run, for the service. */
export interface LinesOfRun extends LeaseRef {
  readonly firstLine: number;
  readonly lines: readonly Scrubbed<LogEntry>[];
  /** Whether no more lines follow, though there are some: the log is long. */
  readonly isFull: boolean;
}

export interface Capabilities {
  /** Names of the check types whose runner loaded. */
  readonly loaded: readonly string[];
  /** The backend that each type with several chose, by name. */
  readonly backends: Readonly<Record<string, string>>;
  readonly failed: readonly {
    readonly name: string;
    readonly reason: string;
    /** The required browser is installed, but does not start. */
    readonly isBrowserBroken?: boolean;
  }[];
  /** Runtimes that scripts can use: those with a complete set of packages. */
  readonly runtimes?: readonly string[] | undefined;
  /** Browsers besides Chromium that scripts and suites can open. */
  readonly browsers?: readonly { readonly name: string; readonly version: string }[] | undefined;
  /** The sandbox that contains scripts. */
  readonly sandbox?: SandboxFacts | undefined;
}

/** A run ended a thread that it had to itself: this run crashes its thread. */
export class RunCrashes extends Error {}

/** Runs the orders of a lane. */
export interface Executor {
  readonly checkTypes: readonly string[];
  /** False while no order can run: runs leased then would be lost. */
  readonly isReady: boolean;
  /** Whether it takes orders before their slots, and starts each at its slot. */
  readonly startsAtSlot?: boolean;
  run(order: RunOrder, signal: StopSignal): Promise<FinishedRun>;
  /** Room of the host for further runs; if absent, only the lane limits them. */
  readonly room?: Room;
  /** Returns runs that it holds and has not started, marked `isUnstarted`. */
  withdrawWaiting?(): void;
}

/** How many more runs a host has room for, of any type except the full ones. */
export interface Room {
  readonly count: number;
  /** Names of check types that the host has no room for. */
  readonly fullTypes: readonly string[];
}
