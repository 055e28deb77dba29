import { expect, it } from 'vitest';
import { HolidayError, holidaysIn, isICalendar } from './holidays.ts';

const now = Date.UTC(2026, 10, 28, 14);
const calendar = (...events: string[][]) =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    ...events.flatMap((lines) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT']),
    'END:VCALENDAR',
  ].join('\r\n');
const days = (...events: string[][]) => holidaysIn(calendar(...events), now, 400);

it('reads the days of events, in order, and leaves out those that are over or cancelled', () => {
  expect(
    days(
      ['DTSTART;VALUE=DATE:20261225', 'DTEND;VALUE=DATE:20261227', 'SUMMARY:Christmas'],
      ['DTSTART;VALUE=DATE:20261128', 'DTEND;VALUE=DATE:20261129'],
      ['DTSTART;VALUE=DATE:20251225'],
      ['DTSTART;VALUE=DATE:20270101', 'STATUS:CANCELLED'],
      ['DTSTART;TZID="Europe/Berlin":20270104T090000', 'DTEND;TZID=Europe/Berlin:20270105T000000'],
      ['DTSTART:20270110T230000Z', 'DTEND:20270111T010000Z'],
      ['DTSTART;VALUE=DATE:20270201', 'DURATION:P1W'],
    ),
  ).toEqual([
    '2026-11-28',
    '2026-12-25/2026-12-26',
    '2027-01-04',
    '2027-01-10/2027-01-11',
    '2027-02-01/2027-02-07',
  ]);
});

it('repeats days that come each year, leap days in leap years', () => {
  expect(days(['DTSTART;VALUE=DATE:20200501', 'RRULE:FREQ=YEARLY;UNTIL=20280501'])).toEqual([
    '2027-05-01',
    '2028-05-01',
  ]);
  expect(days(['DTSTART;VALUE=DATE:20200229', 'RRULE:FREQ=YEARLY'])).toEqual(['2028-02-29']);
});

it('reads folded lines, and no date of an alarm', () => {
  expect(
    days(['DTSTART;VALUE=DA', ' TE:20261225', 'BEGIN:VALARM', 'DTSTART:nonsense', 'END:VALARM']),
  ).toEqual(['2026-12-25']);
});

it.each([
  [['SUMMARY:Nothing'], 'without DTSTART'],
  [['DTSTART:20260230'], 'no date'],
  [['DTSTART:20260501', 'RRULE:FREQ=WEEKLY'], 'only events without one'],
  [['DTSTART:20260501', 'RRULE:FREQ=YEARLY;BYDAY=2MO;BYMONTH=5'], 'only events without one'],
  [['DTSTART:20250501'], 'no event that is not over'],
])('refuses what it cannot read: %j', (lines, message) => {
  expect(() => days(lines)).toThrow(message);
  expect(() => days(lines)).toThrow(HolidayError);
});

it('is bounded, whatever it is given', () => {
  const many = Array.from({ length: 500 }, (_, index) => [
    `DTSTART:${new Date(now + index * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')}`,
  ]);
  expect(() => days(...many)).toThrow('more than 400 events');
  expect(() => holidaysIn(`BEGIN:VCALENDAR\n${'A;"'.repeat(30_000)}`, now, 400)).toThrow('no event');
  expect(isICalendar('\nbegin:vcalendar\n')).toBe(true);
  expect(isICalendar('2026-12-25')).toBe(false);
});
