import { type FailureCode, failure } from '@picket/checks/contract/failure.ts';
import type { FailureDetails } from '@picket/checks/contract/failure-details.ts';
import type { FinishedRun, RunIds } from '../run/contracts.ts';
import type { Scrubber } from '../scrub/scrubber.ts';

/** Why there is no runner's report. */
export interface OwnProblem {
  readonly code: FailureCode;
  readonly message: string;
  readonly checkType: string;
  readonly details?: FailureDetails | undefined;
}

/** The report of a run that no runner could report: its thread died, or this agent cannot run it. */
export function ownReport(
  ids: RunIds,
  problem: OwnProblem,
  context: { readonly scrubber: Scrubber; readonly startedAtMs: number; readonly nowMs: number },
): FinishedRun {
  const { details } = problem;
  const failed = { ...failure(problem.code, problem.message), ...(details === undefined ? {} : { details }) };
  const { scrubber, startedAtMs, nowMs } = context;
  return {
    report: {
      ...ids,
      envelopeJson: scrubber.envelope({
        ...ids,
        startedAt: Math.max(0, Math.round(startedAtMs)),
        stoppedAt: Math.max(0, Math.round(nowMs)),
        hostStartedAt: null,
        responseTimeMs: 0,
        startDelayMs: 0,
        agentLagMs: 0,
        agentOverheadMs: 0,
        isTimingDoubtful: false,
        certificateExpiresAt: null,
        isDegraded: null,
        overMaxResponseTime: null,
        failure: failed,
        errorMessages: [failed.message],
      }),
      detailJson: scrubber.json(null),
    },
    facts: {
      checkType: problem.checkType,
      verdict: 'error',
      isAborted: false,
      failureCode: problem.code,
      startedAtMs,
      startDelayMs: 0,
      agentLagMs: 0,
      isTimingDoubtful: false,
      durationMs: nowMs - startedAtMs,
      unmaskedNames: [],
    },
  };
}
