import { failure, failureCatalogue } from '@picket/checks/contract/failure.ts';
import type { Outcome } from '@picket/checks/contract/outcome.ts';
import type { ThreadLag } from './lag-meter.ts';

/** How late the agent itself was while a run was under way, and how long the run took. */
export interface Lateness extends ThreadLag {
  readonly durationMs: number;
}

const doubt = { leastMs: 5, part: 0.05 };
/** An agent that cost a run that hit a limit of time a fifth of it may be what the limit was hit by. */
const timeLimit = { leastMs: 100, part: 0.2 };
/** Servers wait for seconds before they give up on a silent client; some for one. */
const hangUpMs = 1000;

/** How late the agent was: what its thread saw, and what the runner did. */
export function agentLag({ measurement }: Outcome<unknown>, { lagMs, awayMs }: ThreadLag): ThreadLag {
  const seenMs = measurement?.lagMs ?? 0;
  return { lagMs: Math.max(lagMs, seenMs), awayMs: Math.max(awayMs, seenMs) };
}

/**
 * Whether the times of an outcome may be wrong because of the agent: they are stamps of events (or nobody
 * says what they are), and the agent was late by more than 5 ms and more than 5 % of the response time; or they are the
 * kernel's, and may be off by that much.
 */
export function isTimingDoubtful(outcome: Outcome<unknown>, lagMs: number): boolean {
  const mostMs = Math.max(doubt.leastMs, doubt.part * outcome.responseTimeMs);
  return possibleErrorMs(outcome, lagMs) > mostMs;
}

/** How much of the response time may be the agent's. */
function possibleErrorMs({ measurement }: Outcome<unknown>, lagMs: number): number {
  if (measurement?.clock === 'process') return 0;
  return measurement?.clock === 'kernel' ? (measurement.doubtMs ?? 0) : lagMs;
}

/**
 * Whether the agent may have brought a bad verdict about by being late itself. That is so when
 *
 * - only the response time stands against a better verdict (a limit, or an assertion that it is less than
 * something), the
 *   timing is doubtful, and a response time shorter by what the agent was late would have been good enough;
 * - a limit of time ran out (`fromLateness: 'time-limit'`), and the agent was away for at least 100 ms and a
 * fifth of
 *   the run: most of a limit of seconds would have been enough for anything that works. Not while all it had to
 *   say was said, and it could have heard an answer between two times that it was away: what arrives waits in the
 *   kernel, and is read before a run is given up;
 * - the other side gave up (`fromLateness: 'hang-up'`), and the agent was late by a second or more at one
 * time, when it was its turn to speak.
 *
 * A target that is truly slow stays slow: a lag of some milliseconds explains no second. Nor does a target
 * go free that kept the agent busy: what the thread worked on what the target sent is no lateness.
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

/** What stands against an outcome that the agent spoilt, in words for the log. */
export function spoiltPart(outcome: Outcome<unknown>): string {
  return outcome.failure?.message ?? `Response time ${outcome.responseTimeMs}ms counted as degraded`;
}

/**
 * What remains of an outcome that the agent spoilt: a failure becomes the agent's own, and a time that only
 * made the run degraded is not held against the target.
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
