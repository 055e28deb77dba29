import { describe, expect, it } from 'vitest';
import { type CalendarRule, calendarProblem, nextTimes, zoneOf } from './calendar.ts';

const now = Date.UTC(2026, 10, 28, 14);

function cron(text: string, timeZone: string | null = null): CalendarRule {
  return { cron: text, onCalendar: null, timeZone };
}

function event(text: string, timeZone: string | null = null): CalendarRule {
  return { cron: null, onCalendar: text, timeZone };
}

describe('times of a calendar', () => {
  it.each([
    ['0 3 * * *', 'Europe/Berlin', ['2026-11-29T02:00', '2026-11-30T02:00']],
    ['@daily', null, ['2026-11-29T00:00', '2026-11-30T00:00']],
    ['@HOURLY', null, ['2026-11-28T15:00', '2026-11-28T16:00']],
    ['*/15 9-17/4 * * MON-FRI', null, ['2026-11-30T09:00', '2026-11-30T09:15']],
    // Either of the days is enough,
    ['0 0 13 * FRI', null, ['2026-12-04T00:00', '2026-12-11T00:00']],
    // but with an asterisk at the beginning of one, both are needed.
    ['0 0 */2 * FRI', null, ['2026-12-11T00:00', '2026-12-25T00:00']],
    ['0 0 29 FEB ?', null, ['2028-02-29T00:00', '2032-02-29T00:00']],
    ['30 6 L * *', null, ['2026-11-30T06:30', '2026-12-31T06:30']],
    ['0 12 * * 7', null, ['2026-11-29T12:00', '2026-12-06T12:00']],
  ])('of the cron expression %s in %s', (text, zone, expected) => {
    const times = nextTimes(cron(text, zone), now, 2).map((at) => new Date(at).toISOString().slice(0, 16));
    expect(times).toEqual(expected);
    expect(calendarProblem(cron(text, zone), now)).toBeNull();
  });

  it('of an event are in the zone at its end, or in that of the rule', () => {
    expect(zoneOf(event('daily Europe/Berlin'))).toBe('Europe/Berlin');
    expect(zoneOf(event('daily', 'Europe/Berlin'))).toBe('Europe/Berlin');
    expect(zoneOf(event('daily'))).toBe('UTC');
  });

  it.each([
    [cron('0 3 * *'), 'cron', 'five fields'],
    [cron('* * * * * *'), 'cron', 'five fields'],
    [cron('60 * * * *'), 'cron', 'minute'],
    [cron('@reboot'), 'cron', 'five fields'],
    [cron('2026-01-01T00:00:00'), 'cron', 'five fields'],
    [cron('0 0 31 2 *'), 'cron', 'no time'],
    [cron(`${'1,'.repeat(400)}2 * * * *`), 'cron', 'longer'],
    [cron('0 3 * * *', 'Mars/Olympus'), 'timeZone', 'time zone'],
    [event('*:*:0/10'), 'onCalendar', '30 seconds'],
    [event('2020-01-01'), 'onCalendar', 'no time'],
    [event('daily Europe/Berlin', 'UTC'), 'onCalendar', 'Europe/Berlin'],
    [event('every day'), 'onCalendar', 'every'],
    [{ cron: null, onCalendar: null, timeZone: null }, 'cron', 'either'],
    [{ cron: '@daily', onCalendar: 'daily', timeZone: null }, 'cron', 'either'],
  ] as const)('%j is refused at %s', (rule, field, words) => {
    expect(calendarProblem(rule, now)).toEqual({ field, message: expect.stringContaining(words) });
  });
});
