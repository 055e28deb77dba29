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

/** A conversation with a target, and what is to be done when it fails. */
export interface Diagnosable<Result> {
  /** Holds it. @param onAttempt to be called with every peer that it turns to. */
  hold(onAttempt: (attempt: ContactAttempt) => void): Promise<Result>;
  /** Why it failed; undefined when it did not, or when that is what the check wants. */
  failureOf(result: Result): Failure | undefined;
  /** Why nothing can be found out about that failure. */
  obstacleTo(result: Result): string | undefined;
  /** Whether it can be looked at while it hangs. */
  readonly isSeenHanging: boolean;
  repetition(peer: ContactAttempt, isHanging: boolean): Repetition;
}

/** A conversation that was held, and what was found out when it failed. */
export interface Diagnosed<Result, Found = Evidence> {
  readonly result: Result;
  readonly evidence: Found;
  /** How long the run went on for that: what the agent was late for meanwhile spoilt nothing. */
  readonly diagnosisMs: number;
}

/** What needs no diagnosis. */
export function undiagnosed<Result>(result: Result): Diagnosed<Result> {
  return { result, evidence: noEvidence, diagnosisMs: 0 };
}

/**
 * A conversation without an answer is diagnosed while it still hangs, when this much of its time is left, or
 * this part of it.
 */
const hangingReserveMs = 8000;
const hangingReserveShare = 0.4;
/** Less time than this shows nothing. */
const minDiagnosisMs = 1000;
const maxDiagnosisMs = 8000;
/** Left for handing the evidence over before the run's time is over. */
const marginMs = 300;

/**
 * Holds the conversation of a check, and gathers evidence when the network fails it: a capture of its packets
 * while it is repeated, and a route to the target. The result is that of the first conversation alone, times and
 * all.
 *
 * One that failed is diagnosed at once. One that hangs would leave no time for that, so it is diagnosed while
 * it hangs, shortly before its time is over; should it be answered after all, what was found is forgotten.
 */
export async function withDiagnosis<Result>(
  subject: Diagnosable<Result>,
  controls: DiagnosisControls,
  { artifacts, log }: Pick<RunContext, 'artifacts' | 'log'>,
): Promise<Diagnosed<Result>> {
  if (!artifacts) return undiagnosed(await subject.hold(() => undefined));
  const { timeoutMs } = controls;
  const endMs = performance.now() + timeoutMs - marginMs;
  // Made only when it is needed: an abort makes an error with a stack, which costs more than much else of a
  // run.
  let stop: AbortController | undefined;
  const attempts: ContactAttempt[] = [];
  let findings: Promise<Findings> | undefined;
  const begin = (peer: ContactAttempt, isHanging: boolean) => {
    stop = new AbortController();
    const repetition = subject.repetition(peer, isHanging);
    // A request that is redirected may come back to the same peer.
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
    // It belongs to this run, and nothing of it may outlive the run.
    await findings;
  }
}

/** Only the network on the way to the target, and only when the target is to blame, is worth it. */
function isDiagnosed({ code }: Failure): boolean {
  const { owner, isNetworkError, fromLocation } = failureCatalogue[code];
  return owner === 'target' && (isNetworkError || fromLocation === 'network');
}

/** Never rejects: whatever breaks here is no reason to lose the result of the check. */
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
