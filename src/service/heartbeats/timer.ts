import type { PingState } from '@picket/checks/heartbeat/spec.ts';
import type { HeartbeatRow } from './tables.ts';

/** How far from the expected time a ping still counts as on time. */
const onTimeMs = 5_000;

/** Settings of a timer that determine when the next ping is expected. */
export type Rhythm = Pick<HeartbeatRow, 'period_ms' | 'grace_ms'>;

/** When a ping is expected after the last one, and when its grace time ends; epoch milliseconds. */
export function expectedAfter(rhythm: Rhythm, lastAt: number): { expectedAt: number; deadlineAt: number } {
  const expectedAt = lastAt + rhythm.period_ms;
  return { expectedAt, deadlineAt: expectedAt + rhythm.grace_ms };
}

/** State of a ping that arrives now. */
export function stateOfPing(timer: Pick<HeartbeatRow, 'expected_at' | 'grace_ms'>, now: number): PingState {
  const { expected_at: expectedAt, grace_ms: graceMs } = timer;
  if (expectedAt === null) return 'RECEIVED';
  if (now < expectedAt - onTimeMs) return 'EARLY';
  if (now <= expectedAt + onTimeMs) return 'RECEIVED';
  return now <= expectedAt + graceMs ? 'GRACE' : 'LATE';
}

/**
 * When the grace time ends once the job has started in time: it then has its longest run, or the grace time again, to
 * end. Starts that are repeated without an end do not move it any further than one at the end of the grace time.
 */
export function deadlineWithStart(
  timer: Pick<HeartbeatRow, 'expected_at' | 'deadline_at' | 'grace_ms' | 'longest_run_ms'>,
  startedAt: number,
): number | null {
  const { expected_at: expectedAt, deadline_at: deadlineAt, grace_ms: graceMs } = timer;
  if (expectedAt === null || deadlineAt === null) return null;
  const longestMs = timer.longest_run_ms ?? graceMs;
  const latestAt = expectedAt + graceMs + longestMs;
  return Math.max(deadlineAt, Math.min(startedAt + longestMs, latestAt));
}
