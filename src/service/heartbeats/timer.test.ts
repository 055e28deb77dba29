import { nextTimes } from '@picket/lib/calendar/calendar.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HeartbeatRow } from './tables.ts';
import { countedFrom, deadlineWithStart, expectedAfter, passedTimes, stateOfPing } from './timer.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const noon = Date.UTC(2026, 10, 28, 12);

function timer(fields: Partial<HeartbeatRow> = {}): HeartbeatRow {
  return {
    ...{ check_id: 'check', account_id: 'account', ping_token: 'token', is_active: 1, last_slot_at: 0 },
    ...{ period_ms: hourMs, schedule: null, grace_ms: 10 * minuteMs, longest_run_ms: null },
    ...{ last_at: noon - hourMs, expected_at: noon, deadline_at: noon + 10 * minuteMs },
    ...fields,
  };
}

const schedule = { cron: '0 9-11 * * MON-FRI', onCalendar: null, timeZone: 'Europe/Berlin' };
const scheduled = (fields: Partial<HeartbeatRow> = {}) =>
  timer({ period_ms: 0, schedule: JSON.stringify(schedule), ...fields });

describe('a timer', () => {
  it.each([
    [-6, 'EARLY'],
    [-5, 'RECEIVED'],
    [5, 'RECEIVED'],
    [6, 'GRACE'],
    [600, 'GRACE'],
    [601, 'LATE'],
  ])('has a ping %i s from the expected time as %s', (seconds, state) => {
    expect(stateOfPing(timer(), noon + seconds * 1000)).toBe(state);
    expect(stateOfPing(timer({ expected_at: null }), noon)).toBe('RECEIVED');
  });

  it('expects the next ping a period after the last one, or at the next time of its schedule', () => {
    expect(expectedAfter(timer(), noon)).toBe(noon + hourMs);
    expect(expectedAfter(scheduled(), noon)).toBe(Date.UTC(2026, 10, 30, 8));
    // A zone that is no longer known stops the timer, and nothing else.
    const unknown = JSON.stringify({ ...schedule, timeZone: 'Mars/Olympus' });
    expect(expectedAfter(scheduled({ schedule: unknown }), noon)).toBeNull();
  });

  it('counts a ping a little before a time of its schedule as the ping of that time', () => {
    const due = scheduled({ expected_at: noon });
    expect(countedFrom(due, noon - 4_000)).toBe(noon);
    expect(countedFrom(due, noon - 6_000)).toBe(noon - 6_000);
    expect(countedFrom(due, noon + 1)).toBe(noon + 1);
    expect(countedFrom(timer(), noon - 4_000)).toBe(noon - 4_000);
  });

  it('gives a job that starts the time to end, and no more however often it starts', () => {
    const starts = fc.array(fc.integer({ min: -hourMs, max: 3 * hourMs }), { minLength: 1, maxLength: 20 });
    const longest = fc.option(fc.integer({ min: 1, max: 2 * hourMs }));
    fc.assert(
      fc.property(starts, longest, (offsets, longestMs) => {
        let deadlineAt = noon + 10 * minuteMs;
        for (const offset of offsets.toSorted((one, other) => one - other)) {
          const moved = deadlineWithStart(
            timer({ deadline_at: deadlineAt, longest_run_ms: longestMs }),
            noon + offset,
          );
          expect(moved).toBeGreaterThanOrEqual(deadlineAt);
          deadlineAt = moved ?? 0;
        }
        expect(deadlineAt).toBeLessThanOrEqual(noon + 10 * minuteMs + (longestMs ?? 10 * minuteMs));
      }),
    );
    expect(deadlineWithStart(timer({ expected_at: null }), noon)).toBeNull();
  });

  it('has passed every time from the expected one up to now, once', () => {
    const until = fc.integer({ min: 0, max: 30 * 24 * hourMs });
    fc.assert(
      fc.property(until, fc.boolean(), (spanMs, isScheduled) => {
        const [expectedAt] = nextTimes(schedule, noon, 1);
        const one = isScheduled ? scheduled({ expected_at: expectedAt ?? 0 }) : timer();
        const groups = passedTimes(one, noon + spanMs);
        const times = groups.flatMap(({ firstAt, count, intervalMs }) =>
          Array.from({ length: count }, (_none, index) => firstAt + index * intervalMs),
        );
        const all = isScheduled
          ? nextTimes(schedule, noon, 100)
          : Array.from({ length: 721 }, (_none, index) => noon + index * hourMs);
        expect(times).toEqual(all.filter((at) => at <= noon + spanMs));
      }),
    );
    expect(passedTimes(timer({ expected_at: null }), noon)).toEqual([]);
  });
});
