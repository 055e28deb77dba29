import { toError } from '@picket/lib/errors.ts';
import { hostAndPort } from '@picket/probes/address.ts';
import type { ContactAttempt } from '@picket/probes/connection/target.ts';
import { type Failure, failureCatalogue } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import {
  type DiagnosisControls,
  type Evidence,
  type Findings,
  keepEvidence,
  noEvidence,
  nothingFound,
  type Repetition,
} from './evidence.ts';
import { diagnosisGate, findCapture, findRoute } from './network-evidence.ts';

/** An exchange with a target, and how to diagnose its failure. */
export interface Diagnosable<Result> {
  /** Runs the exchange. @param onAttempt to be called with every peer that it contacts. */
  hold(onAttempt: (attempt: ContactAttempt) => void): Promise<Result>;
  /** Returns why it failed; undefined if it succeeded, or if the check expects the failure. */
  failureOf(result: Result): Failure | undefined;
  /** Returns why that failure cannot be diagnosed. */
  obstacleTo(result: Result): string | undefined;
  /** Whether it can be diagnosed while it hangs. */
  readonly isSeenHanging: boolean;
  repetition(peer: ContactAttempt, isHanging: boolean): Repetition;
}

/** A finished exchange, and the evidence if it failed. */
export interface Diagnosed<Result, Found = Evidence> {
  readonly result: Result;
  readonly evidence: Found;
  /** How long the diagnosis extended the run: delays of the agent in that time do not affect the result. */
  readonly diagnosisMs: number;
}

/** The result of an exchange without a diagnosis. */
export function undiagnosed<Result>(result: Result): Diagnosed<Result> {
  return { result, evidence: noEvidence, diagnosisMs: 0 };
}

/** A hanging exchange is diagnosed when this much of its time is left, or this share of it. */
const hangingReserveMs = 8000;
const hangingReserveShare = 0.4;
/** A shorter diagnosis finds nothing. */
const minDiagnosisMs = 1000;
const maxDiagnosisMs = 8000;
/** Reserved for handing the evidence over before the run's deadline. */
const marginMs = 300;

/**
 * Runs the exchange of a check, and gathers evidence if the network makes it fail: a packet capture of its repetition,
 * and a route to the target. The result and its times are those of the first exchange alone.
 *
 * A failed exchange is diagnosed at once. A hanging one would leave no time for that, so it is diagnosed while it
 * hangs, shortly before its deadline; if a response still arrives, the findings are discarded.
 */
export async function withDiagnosis<Result>(
  subject: Diagnosable<Result>,
  controls: DiagnosisControls,
  { artifacts, log }: Pick<RunContext, 'artifacts' | 'log'>,
): Promise<Diagnosed<Result>> {
  if (!artifacts) return undiagnosed(await subject.hold(() => undefined));
  const { timeoutMs } = controls;
  const endMs = performance.now() + timeoutMs - marginMs;
  // Created only if needed: an abort creates an error with a stack, one of the most expensive steps of a run.
  let stop: AbortController | undefined;
  const attempts: ContactAttempt[] = [];
  let findings: Promise<Findings> | undefined;
  const begin = (peer: ContactAttempt, isHanging: boolean) => {
    stop = new AbortController();
    const repetition = subject.repetition(peer, isHanging);
    // A redirected request may return to the same peer.
    const isOnlyPeer = attempts.length === 1 || repetition.what === 'connection';
    return diagnose(
      { peer, repetition, isOnlyPeer },
      {
        egress: controls.egress,
        signal: AbortSignal.any([controls.signal, stop.signal]),
        timeoutMs: Math.min(maxDiagnosisMs, endMs - performance.now()),
      },
    );
  };
  const reserveMs = Math.min(hangingReserveMs, timeoutMs * hangingReserveShare);
  const timer = setTimeout(() => {
    const peer = attempts.at(-1);
    if (peer && subject.isSeenHanging) findings = begin(peer, true);
  }, timeoutMs - reserveMs);
  try {
    const result = await subject.hold((attempt) => attempts.push(attempt));
    clearTimeout(timer);
    const failed = subject.failureOf(result);
    if (!failed || !isDiagnosed(failed)) return undiagnosed(result);
    const heldMs = performance.now();
    const peer = attempts.at(-1);
    if (!findings) {
      const obstacle = subject.obstacleTo(result);
      if (obstacle !== undefined) findings = Promise.resolve(nothingFound(obstacle));
      else if (!peer) findings = Promise.resolve(nothingFound('no connection was started'));
      else findings = begin(peer, false);
    }
    const evidence = await keepEvidence(await findings, artifacts, log);
    return { result, evidence, diagnosisMs: performance.now() - heldMs };
  } finally {
    clearTimeout(timer);
    stop?.abort();
    // The diagnosis belongs to this run and must not outlive it.
    await findings;
  }
}

/** Only failures of the network path for which the target is to blame are worth a diagnosis. */
function isDiagnosed({ code }: Failure): boolean {
  const { owner, isNetworkError, fromLocation } = failureCatalogue[code];
  return owner === 'target' && (isNetworkError || fromLocation === 'network');
}

/** Never rejects: an error in the diagnosis must not lose the result of the check. */
async function diagnose(
  subject: {
    readonly peer: ContactAttempt;
    readonly repetition: Repetition;
    readonly isOnlyPeer: boolean;
  },
  controls: DiagnosisControls,
): Promise<Findings> {
  const { peer } = subject;
  if (controls.timeoutMs < minDiagnosisMs) return nothingFound('too little time of the run is left');
  const gate = diagnosisGate();
  const refusal = gate.enter(peer.protocol === 'icmp' ? peer.address : hostAndPort(peer.address, peer.port));
  if (refusal !== undefined) return nothingFound(refusal);
  try {
    const [capture, route] = await Promise.all([findCapture(subject, controls), findRoute(peer, controls)]);
    return { ...capture, ...route, remarks: [...capture.remarks, ...route.remarks] };
  } catch (thrown) {
    return nothingFound(`the diagnosis failed: ${toError(thrown).message}`);
  } finally {
    gate.leave();
  }
}
