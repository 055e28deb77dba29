import type { HoursRule } from '@picket/lib/calendar/hours.ts';
import { weekdays } from '@picket/lib/calendar/hours.ts';
import { expect, it } from 'vitest';
import type { SlotGrid } from './slots.ts';
import { calendarTimes, gridTimes, hoursTimes, lastOf, type Timetable, timesWithin } from './timetable.ts';

const minuteMs = 60_000;
const dayMs = 1440 * minuteMs;
const work: HoursRule = {
  timeZone: 'Europe/Berlin',
  mode: 'RUN',
  windows: [{ weekdays: ['MON', 'TUE', 'WED', 'THU', 'FRI'], from: '08:00', to: '18:00' }],
  holidays: ['2026-12-24/2027-01-01'],
};
const nights: HoursRule = {
  ...work,
  mode: 'PAUSE',
  windows: [{ weekdays: [...weekdays], from: '22:30', to: '05:15' }],
};
const short: HoursRule = {
  ...work,
  timeZone: 'America/New_York',
  windows: [
    { weekdays: ['SUN'], from: '01:30', to: '03:30' },
    { weekdays: [...weekdays], from: '12:00', to: '12:01' },
  ],
};

const slotsOf = (times: Timetable, from: number, to: number) =>
  times
    .list(from, to, 1_000_000)
    .rows.flatMap((row) =>
      Array.from({ length: row.count }, (_, index) => row.firstAt + index * row.strideMs),
    );

const grid = (minutes: number, phaseMs = 7_300): SlotGrid => ({ intervalMs: minutes * minuteMs, phaseMs });
const cases: [string, Timetable, number][] = [
  ['a plain grid', gridTimes(grid(10)), 2],
  ['hours of work', hoursTimes(grid(10), work, 0.4), 4],
  ['a daily run in hours of work', hoursTimes(grid(1440), work, 0.4), 30],
  ['all but the night', hoursTimes(grid(30), nights, 0.9), 4],
  [
    'a cron expression',
    calendarTimes({ cron: '*/20 6-8 * * MON-FRI', onCalendar: null, timeZone: 'Europe/Berlin' }),
    5,
  ],
  [
    'a calendar event, rarely',
    calendarTimes({ cron: null, onCalendar: '*-03,10-28..31 01..03:30', timeZone: 'Europe/Berlin' }),
    12,
  ],
  [
    'a cron expression in hours of work',
    timesWithin(calendarTimes({ cron: '15 */2 * * *', onCalendar: null, timeZone: 'UTC' }), work),
    10,
  ],
  ['short windows', hoursTimes(grid(60, 59 * minuteMs), short, 0), 12],
];
const starts = ['2026-03-26', '2026-10-22'].map((date) => Date.parse(`${date}T00:00:00Z`));

it.each(cases)('lists, counts and finds the same slots: %s', (_what, times, days) => {
  for (const from of starts) {
    const to = from + days * dayMs;
    const slots = slotsOf(times, from, to);
    expect(slots).toEqual([...new Set(slots)].sort((one, other) => one - other));
    const walked: number[] = [];
    for (let at = times.next(from - 1); at !== null && at <= to; at = times.next(at)) walked.push(at);
    expect(slots).toEqual(walked);
    for (const [index, at] of slots.entries()) {
      expect(times.newest(at)).toBe(at);
      if (index > 0) expect(times.newest(at - 1)).toBe(slots[index - 1]);
    }
    // Any cut has every slot once, also at a slot, where the scheduler cuts: no service that was away loses one.
    const cuts = [0.1, 0.4, 0.7].map((share) => slots[Math.floor(slots.length * share)] ?? from);
    for (const cut of cuts.flatMap((at) => [at - 1, at, at + 1])) {
      expect([...slotsOf(times, from, cut), ...slotsOf(times, cut + 1, to)]).toEqual(slots);
    }
  }
});

it('continues a list that ended early without losing a slot', () => {
  const times = hoursTimes(grid(10), work, 0.5);
  const [from, to] = [Date.parse('2026-01-01T00:00Z'), Date.parse('2026-12-31T00:00Z')];
  const whole = slotsOf(times, from, to);
  const parts: number[] = [];
  for (let at = from; at <= to; ) {
    const { rows, untilMs } = times.list(at, to, 20);
    parts.push(...rows.map(lastOf));
    at = untilMs + 1;
  }
  expect(parts).toEqual(times.list(from, to, 1_000_000).rows.map(lastOf));
  expect(whole.length).toBeGreaterThan(15_000);
});

it('continues a list of a calendar that ended early', () => {
  const times = calendarTimes({ cron: '* * * * *', onCalendar: null, timeZone: null });
  const [from, to] = [Date.parse('2026-01-01T00:00Z'), Date.parse('2026-01-04T00:00Z')];
  let count = 0;
  let rounds = 0;
  for (let at = from; at <= to; rounds += 1) {
    const { rows, untilMs } = times.list(at, to, 20);
    count += rows.reduce((sum, row) => sum + row.count, 0);
    at = untilMs + 1;
  }
  expect(count).toBe(3 * 1440 + 1);
  expect(rounds).toBeGreaterThanOrEqual(1);
});

it('finds the newest time of a calendar that rarely has one', () => {
  const leap = calendarTimes({ cron: '0 0 29 2 *', onCalendar: null, timeZone: null });
  expect(leap.newest(Date.parse('2027-12-31T00:00Z'))).toBe(Date.parse('2024-02-29T00:00Z'));
  const past = calendarTimes({ cron: null, onCalendar: '2026-05-01 12:00', timeZone: null });
  expect(past.newest(Date.parse('2026-05-01T11:59Z'))).toBeNull();
  expect(past.next(Date.parse('2026-05-01T12:00Z'))).toBeNull();
});

it('has a run in each window that is shorter than the interval', () => {
  const times = hoursTimes(grid(1440, 3 * 60 * minuteMs), work, 0.25);
  const slots = slotsOf(times, Date.parse('2026-06-01T00:00Z'), Date.parse('2026-06-08T00:00Z'));
  expect(slots.map((at) => new Date(at).toISOString())).toEqual(
    ['01', '02', '03', '04', '05'].map((day) => `2026-06-${day}T08:30:00.000Z`),
  );
});

it('has no slot on a holiday, and the next one after it', () => {
  const times = hoursTimes(grid(10), work, 0);
  const next = times.next(Date.parse('2026-12-23T17:30:00Z'));
  expect(new Date(next ?? 0).toISOString()).toBe('2027-01-04T07:00:07.300Z');
});
