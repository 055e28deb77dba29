import { Schedule } from '@picket/checks/contract/definition/schedule.ts';
import type { PingState } from '@picket/checks/heartbeat/spec.ts';
import { type CalendarRule, nextTimes } from '@picket/lib/calendar/calendar.ts';
import { CalendarSyntaxError } from '@picket/lib/calendar/on-calendar.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import type { HeartbeatRow } from './tables.ts';

/** How far from the expected time a ping still counts as on time. */
const onTimeMs = 5_000;

const scheduleIn = storedJson(
  'heartbeats.schedule',
  lazySchema(() => Schedule.schema.nullable()),
);

/** Settings of a timer that determine when pings are expected. */
export type Rhythm = Pick<HeartbeatRow, 'period_ms' | 'grace_ms' | 'schedule'>;

/** The schedule of a timer; null if its pings are expected at an interval. */
export function scheduleOf({ schedule }: Pick<Rhythm, 'schedule'>): CalendarRule | null {
  return schedule === null ? null : scheduleIn(schedule);
}

/** The first time after an instant at which a ping is expected, in epoch milliseconds; null without one. */
export function expectedAfter(rhythm: Rhythm, afterMs: number): number | null {
  const schedule = scheduleOf(rhythm);
  return schedule === null ? afterMs + rhythm.period_ms : (timesAfter(schedule, afterMs, 1)[0] ?? null);
}

/** Up to `count` times of a schedule after an instant. */
export function timesAfter(schedule: CalendarRule, afterMs: number, count: number): number[] {
  try {
    return nextTimes(schedule, afterMs, count);
  } catch (thrown) {
    // It was valid when it was stored: its zone is no longer known here.
    if (thrown instanceof CalendarSyntaxError) return [];
    throw thrown;
  }
}

/**
 * The instant from which the next expected time counts after a ping: of a schedule the time that the ping answered,
 * if it came a little before it.
 */
export function countedFrom(timer: Pick<HeartbeatRow, 'schedule' | 'expected_at'>, at: number): number {
  const { schedule, expected_at: expectedAt } = timer;
  return schedule !== null && expectedAt !== null && expectedAt <= at + onTimeMs
    ? Math.max(at, expectedAt)
    : at;
}

/** Times of consecutive pings that were expected at the same distance. */
export interface PassedTimes {
  readonly firstAt: number;
  readonly count: number;
  /** Distance of two of them; 0 if there is only one. */
  readonly intervalMs: number;
}

/** At most this many times of a schedule are recorded: each is computed, and thousands of timers may have waited. */
const maxPassed = 100;

/** The times at which pings have been expected up to an instant, from the one that the timer waits for. */
export function passedTimes(timer: HeartbeatRow, now: number): PassedTimes[] {
  const { expected_at: firstAt, period_ms: intervalMs } = timer;
  if (firstAt === null || firstAt > now) return [];
  const schedule = scheduleOf(timer);
  if (schedule === null) {
    return [{ firstAt, count: Math.floor((now - firstAt) / intervalMs) + 1, intervalMs }];
  }
  const groups: { firstAt: number; count: number; intervalMs: number }[] = [];
  let at: number | undefined = firstAt;
  for (let times = 0; at !== undefined && at <= now && times < maxPassed; times += 1) {
    const last = groups.at(-1);
    const distanceMs = last ? at - (last.firstAt + (last.count - 1) * last.intervalMs) : 0;
    if (last && (last.count === 1 || distanceMs === last.intervalMs)) {
      last.count += 1;
      last.intervalMs = distanceMs;
    } else groups.push({ firstAt: at, count: 1, intervalMs: 0 });
    [at] = timesAfter(schedule, at, 1);
  }
  return groups;
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
