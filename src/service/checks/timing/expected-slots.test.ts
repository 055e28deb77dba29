import type { ActiveHours } from '@picket/checks/contract/definition/active-hours.ts';
import { weekdays } from '@picket/lib/calendar/hours.ts';
import { expect, it } from 'vitest';
import { type ExpectedTimes, expectedSlots, timesOfPings } from './expected-slots.ts';
import { calendarTimes, gridTimes, hoursTimes, timesWithin } from './timetable.ts';

const minuteMs = 60_000;
const dayMs = 1440 * minuteMs;
const hours: ActiveHours = {
  timeZone: 'Europe/Berlin',
  mode: 'RUN',
  windows: [{ weekdays: [...weekdays], from: '08:30', to: '10:00' }],
  holidays: ['2026-10-26'],
};
const onTimes = (cron: string | null, onCalendar: string | null, within: ActiveHours | null = null) => {
  const schedule = { cron, onCalendar, timeZone: 'Europe/Berlin' };
  const times = calendarTimes(schedule);
  return { usual: within ? timesWithin(times, within) : times, schedule, hours: within };
};
const grid = { intervalMs: 10 * minuteMs, phaseMs: 7_300 };
const cases: [string, ExpectedTimes][] = [
  ['a plain grid', { usual: gridTimes(grid), schedule: null, hours: null }],
  ['hours', { usual: hoursTimes(grid, hours, 0.4), schedule: null, hours }],
  ['a schedule', onTimes('*/7 6-9 * * *', null)],
  ['a rare schedule', onTimes(null, '*-10,11-26 01..03:30')],
  ['a schedule in hours', onTimes('*/7 6-9 * * *', null, hours)],
  ['a schedule of half minutes', onTimes(null, '*-*-26 *:*:0/30')],
];

it.each(cases)('counts the slots of %s, as going through them does', (_what, times) => {
  const start = Date.UTC(2026, 9, 23, 5, 13);
  // Of a day with half minutes there are more than a list has.
  for (const [from, to] of [
    [start, start + 4 * dayMs],
    [start + 2 * dayMs + 7 * 3_600_000, start + 3 * dayMs],
    [start, start + 30 * minuteMs],
    [start, start],
  ] as const) {
    let count = 0;
    for (let at = times.usual.next(from - 1); at !== null && at < to; at = times.usual.next(at)) count += 1;
    expect(expectedSlots(times, { from, to }, 1_000_000)).toBe(count);
    expect(expectedSlots(times, { from, to }, 10)).toBeGreaterThanOrEqual(Math.min(count, 10));
  }
});

it('knows when pings are expected, unless the schedule is one that this build does not understand', () => {
  const from = Date.UTC(2026, 9, 23);
  const week = { from, to: from + 7 * dayMs };
  const countOf = (periodMs: number | null, cron: string | null) => {
    const schedule = cron === null ? null : { cron, onCalendar: null, timeZone: null };
    const times = timesOfPings({ periodMs, schedule });
    return times && expectedSlots(times, week, 1_000);
  };
  expect([countOf(dayMs, null), countOf(null, '0 3 * * *'), countOf(null, null)]).toEqual([7, 7, null]);
  expect(countOf(null, 'at noon')).toBeNull();
});
