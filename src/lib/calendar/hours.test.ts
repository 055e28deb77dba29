import { expect, it } from 'vitest';
import { type HoursRule, type HoursSpan, hoursWithin, minutesOfClock, weekdays } from './hours.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const work = {
  timeZone: 'Europe/Berlin',
  mode: 'RUN',
  windows: [{ weekdays: ['MON', 'TUE', 'WED', 'THU', 'FRI'], from: '08:00', to: '18:00' }],
  holidays: [],
} as const satisfies HoursRule;

const shown = (spans: readonly HoursSpan[]) =>
  spans.map(({ from, to }) => [new Date(from).toISOString(), new Date(to).toISOString()]);
const within = (rule: HoursRule, from: string, to: string) =>
  shown(hoursWithin(rule, { from: Date.parse(from), to: Date.parse(to) }));

it('has spans on working days, by the clock of the zone', () => {
  // Clocks go forward on Sunday, 2026-03-29.
  expect(within(work, '2026-03-27T00:00Z', '2026-03-31T00:00Z')).toEqual([
    ['2026-03-27T07:00:00.000Z', '2026-03-27T17:00:00.000Z'],
    ['2026-03-30T06:00:00.000Z', '2026-03-30T16:00:00.000Z'],
  ]);
});

it('leaves out holidays, also what a window of the night before has of them', () => {
  const nights: HoursRule = {
    ...work,
    timeZone: 'UTC',
    windows: [{ weekdays: ['WED', 'THU'], from: '22:00', to: '06:00' }],
    holidays: ['2026-12-25', '2026-12-31/2027-01-02'],
  };
  expect(within(nights, '2026-12-23T12:00Z', '2027-01-03T00:00Z')).toEqual([
    ['2026-12-23T22:00:00.000Z', '2026-12-24T06:00:00.000Z'],
    ['2026-12-24T22:00:00.000Z', '2026-12-25T00:00:00.000Z'],
    ['2026-12-30T22:00:00.000Z', '2026-12-31T00:00:00.000Z'],
  ]);
});

it('runs outside of its windows in the mode PAUSE, across midnight in one span', () => {
  const backup: HoursRule = {
    ...work,
    timeZone: 'UTC',
    mode: 'PAUSE',
    windows: [{ weekdays: [...weekdays], from: '02:00', to: '03:00' }],
  };
  expect(within(backup, '2026-05-05T12:00Z', '2026-05-06T12:00Z')).toEqual([
    ['2026-05-05T03:00:00.000Z', '2026-05-06T02:00:00.000Z'],
    ['2026-05-06T03:00:00.000Z', '2026-05-07T02:00:00.000Z'],
  ]);
});

it('ends a window whose end is skipped at the skip, and counts the first of times that come twice', () => {
  const early: HoursRule = { ...work, windows: [{ weekdays: ['SUN'], from: '01:00', to: '02:30' }] };
  expect(within(early, '2026-03-29T00:00Z', '2026-03-29T12:00Z')).toEqual([
    ['2026-03-29T00:00:00.000Z', '2026-03-29T01:00:00.000Z'],
  ]);
  expect(within(early, '2026-10-25T00:00Z', '2026-10-25T12:00Z')).toEqual([
    ['2026-10-24T23:00:00.000Z', '2026-10-25T00:30:00.000Z'],
  ]);
  const skipped: HoursRule = { ...work, windows: [{ weekdays: ['SUN'], from: '02:10', to: '02:50' }] };
  expect(within(skipped, '2026-03-28T00:00Z', '2026-03-30T00:00Z')).toEqual([]);
});

/** The local day of the week and minute, by the zones of the engine: another implementation than the one under test. */
function localClock(timeZone: string): (at: number) => { weekday: number; minute: number; date: string } {
  const format = new Intl.DateTimeFormat('en-CA', {
    ...{ timeZone, hourCycle: 'h23', weekday: 'short', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit' },
  });
  return (at) => {
    const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return {
      weekday: weekdays.indexOf((part['weekday'] ?? '').toUpperCase() as (typeof weekdays)[number]),
      minute: Number(part['hour']) * 60 + Number(part['minute']),
      date: `${part['year']}-${part['month']}-${part['day']}`,
    };
  };
}

/** Whether a rule has hours at a local time: read off its windows. */
function isOpen(
  rule: HoursRule,
  { weekday, minute, date }: ReturnType<ReturnType<typeof localClock>>,
): boolean {
  if (rule.holidays.includes(date)) return false;
  if (rule.windows.length === 0) return true;
  const isIn = rule.windows.some(({ weekdays: days, from, to }) => {
    const [start, end] = [minutesOfClock(from) ?? 0, minutesOfClock(to) ?? 0];
    const has = (day: number) => days.includes(weekdays[(day + 7) % 7] ?? 'MON');
    if (end > start) return has(weekday) && minute >= start && minute < end;
    return (has(weekday) && minute >= start) || (has(weekday - 1) && minute < end);
  });
  return isIn === (rule.mode === 'RUN');
}

/** Numbers below a bound, the same in every run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const clock = (minute: number) =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

function someRule(random: (below: number) => number, timeZone: string): HoursRule {
  const windows = Array.from({ length: 1 + random(3) }, () => {
    const from = random(96) * 15;
    return {
      weekdays: weekdays.filter(() => random(2) === 0),
      from: clock(from),
      to: clock((from + 15 * (1 + random(95))) % 1440),
    };
  });
  const mode = random(2) === 0 ? 'RUN' : 'PAUSE';
  const holidays = Array.from(
    { length: random(3) },
    () => `2026-${random(2) === 0 ? '03' : '10'}-${10 + random(20)}`,
  );
  return { timeZone, mode, windows, holidays };
}

const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago'];

it.each(zones)('agrees with the clocks of %s, on days on which they change, too', (zone) => {
  const random = randomOf(zone.length * 7_919);
  const local = localClock(zone);
  const starts = ['2026-03-07', '2026-03-27', '2026-10-23'];
  for (const start of starts) {
    const rule = someRule(random, zone);
    const from = Date.parse(`${start}T00:00:00Z`);
    const spans = hoursWithin(rule, { from, to: from + 4 * dayMs });
    let last = -1;
    for (const span of spans) {
      expect(span.from).toBeLessThan(span.to);
      expect(span.from).toBeGreaterThan(last);
      last = span.to;
    }
    const seen = new Set<string>();
    for (let at = from; at < from + 4 * dayMs; at += 15 * 60_000) {
      const time = local(at);
      // Of times that come twice, only the first is in the rule's words; spans go on through the second.
      const key = `${time.date} ${time.minute}`;
      const isTwice =
        seen.has(key) ||
        local(at + hourMs).minute === time.minute ||
        local(at + hourMs / 2).minute === time.minute;
      seen.add(key);
      const isIn = spans.some((span) => at >= span.from && at < span.to);
      if (!isTwice)
        expect(`${new Date(at).toISOString()} ${isIn}`).toBe(
          `${new Date(at).toISOString()} ${isOpen(rule, time)}`,
        );
    }
  }
});
