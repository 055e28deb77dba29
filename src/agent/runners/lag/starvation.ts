import { failure, failureCatalogue } from '@picket/checks/contract/failure.ts';
import type { Outcome } from '@picket/checks/contract/outcome.ts';
import type { ThreadLag } from './lag-meter.ts';

/** How late the agent itself was during a run, and the duration of the run. */
export interface Lateness extends ThreadLag {
  readonly durationMs: number;
}

const doubt = { leastMs: 5, part: 0.05 };
/** If the agent was away for a fifth of a run, it may be the cause of an exceeded time limit. */
const timeLimit = { leastMs: 100, part: 0.2 };
/** Servers wait for seconds before they hang up on a silent client; some wait only one. */
const hangUpMs = 1000;

/** Lateness of the agent: the larger of the values that its thread and its runner measured. */
export function agentLag({ measurement }: Outcome<unknown>, { lagMs, awayMs }: ThreadLag): ThreadLag {
  const seenMs = measurement?.lagMs ?? 0;
  return { lagMs: Math.max(lagMs, seenMs), awayMs: Math.max(awayMs, seenMs) };
}

/**
 * Whether the agent may have distorted the times of an outcome: they are event timestamps (or of unknown origin) and
 * the agent was late by more than 5 ms and more than 5 % of the response time; or they are kernel timestamps with a
 * possible error of that size.
 */
export function isTimingDoubtful(outcome: Outcome<unknown>, lagMs: number): boolean {
  const mostMs = Math.max(doubt.leastMs, doubt.part * outcome.responseTimeMs);
  return possibleErrorMs(outcome, lagMs) > mostMs;
}

/** How much of the response time the agent may have caused. */
function possibleErrorMs({ measurement }: Outcome<unknown>, lagMs: number): number {
  if (measurement?.clock === 'process') return 0;
  return measurement?.clock === 'kernel' ? (measurement.doubtMs ?? 0) : lagMs;
}

/**
 * Whether the agent's own lateness may have caused a bad verdict. That is the case if
 *
 * - only the response time prevents a better verdict (a limit, or an assertion that it is less than some value), the
 *   timing is doubtful, and a response time shorter by the agent's lateness would have been good enough;
 * - a time limit was exceeded (`fromLateness: 'time-limit'`), and the agent was away for at least 100 ms and a fifth of
 *   the run: most of a limit of seconds is enough for any working target. Time spent waiting after the last byte was
 *   sent does not count, if the agent could have read a response between two absences: data waits in the kernel and is
 *   read before the run is given up;
 * - the peer gave up (`fromLateness: 'hang-up'`), and the agent was late by a second or more at one time while it was
 *   the agent's turn to send.
 *
 * A slow target stays slow: a lag of some milliseconds does not explain a second. Nor is a target excused that kept the
 * agent busy: time spent processing the target's data is not lateness.
 */
export function isSpoilt(outcome: Outcome<unknown>, lateness: Lateness): boolean {
  const { durationMs } = lateness;
  const workMs = outcome.measurement?.workMs ?? 0;
  const lagMs = Math.max(0, lateness.lagMs - workMs);
  const awayMs = Math.max(0, lateness.awayMs - workMs);
  if (outcome.timeExcessMs !== undefined) {
    const byKernel = outcome.measurement?.clock === 'kernel';
    const mostMs = byKernel ? possibleErrorMs(outcome, lagMs) : Math.max(lagMs, awayMs);
    return isTimingDoubtful(outcome, lagMs) && outcome.timeExcessMs <= mostMs;
  }
  if (!outcome.failure) return false;
  const waitedMs = outcome.measurement?.waitedMs ?? 0;
  switch (failureCatalogue[outcome.failure.code].fromLateness) {
    case 'time-limit':
      return (
        Math.min(awayMs, durationMs - Math.max(0, waitedMs - lagMs)) >=
        Math.max(timeLimit.leastMs, timeLimit.part * durationMs)
      );
    case 'hang-up':
      return Math.min(lagMs, durationMs - waitedMs) >= hangUpMs;
    default:
      return false;
  }
}

/** The problem of an outcome that the agent spoilt, in words for the log. */
export function spoiltPart(outcome: Outcome<unknown>): string {
  return outcome.failure?.message ?? `Response time ${outcome.responseTimeMs}ms counted as degraded`;
}

/**
 * Corrects an outcome that the agent spoilt: a failure becomes the agent's own, and a time that only degraded the run
 * does not count against the target.
 */
export function starvedOutcome(outcome: Outcome<unknown>, lagMs: number): Outcome<unknown> {
  const cleared = {
    ...outcome,
    isDegraded: outcome.isDegraded === null ? null : false,
    overMaxResponseTime: outcome.overMaxResponseTime === null ? null : false,
  };
  if (!outcome.failure) return cleared;
  const message = `The agent itself was ${Math.round(lagMs)} ms late, which may be the only cause: ${outcome.failure.message}`;
  return { ...cleared, failure: failure('AGENT_STARVED', message), errorMessages: [message] };
}
