import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { type CalendarRule, nextTime, nextTimes } from '../../../src/lib/calendar/calendar.ts';
import { isNight } from '../../helpers/night.ts';

const minuteMs = 60_000;

function cron(text: string, timeZone: string): CalendarRule {
  return { cron: text, onCalendar: null, timeZone };
}

function event(text: string, timeZone: string): CalendarRule {
  return { cron: null, onCalendar: text, timeZone };
}

/** The first change of a zone's clocks from 2026 on; undefined if they never change. */
function changeOf(timeZone: string): number | undefined {
  const start = Temporal.ZonedDateTime.from(`2026-01-01T00:00[${timeZone}]`);
  return start.getTimeZoneTransition('next')?.epochMilliseconds;
}

/** Zones whose clocks change: by day those with unusual changes, at midnight, by half an hour, or off the hour. */
const changing = isNight
  ? Intl.supportedValuesOf('timeZone').filter((zone) => changeOf(zone) !== undefined)
  : [
      ...['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'America/Havana'],
      ...['America/St_Johns', 'Asia/Beirut', 'Atlantic/Azores', 'Pacific/Chatham', 'Africa/Casablanca'],
    ];
/** Ten times as many tries at night. */
const tries = (byDay: number) => ({ numRuns: isNight ? byDay * 10 : byDay });

/** Local hour and minute of an instant, by the system's zones. */
function clockReader(timeZone: string): (at: number) => { hour: number; minute: number } {
  const format = new Intl.DateTimeFormat('en', {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone,
  });
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    return { hour: parts.get('hour') ?? 0, minute: parts.get('minute') ?? 0 };
  };
}

describe('times of a calendar around changes of the clocks', () => {
  it('follow each other: the next time after any instant is the first of the times after it', () => {
    const fields = fc.tuple(
      fc.constantFrom('*', '*/7', '30', '0,45'),
      fc.constantFrom('*', '2', '1-3', '*/5', '0,23'),
    );
    fc.assert(
      fc.property(
        fields,
        fc.constantFrom(...changing),
        fc.integer({ min: -1600, max: 1600 }),
        ([minute, hour], zone, offset) => {
          for (const rule of [cron(`${minute} ${hour} * * *`, zone), event(eventText(minute, hour), zone)]) {
            const from = (changeOf(zone) ?? 0) - 36 * 60 * minuteMs;
            const at = from + (offset + 1600) * minuteMs;
            const all = nextTimes(rule, from, 500);
            expect(all).toEqual([...new Set(all)].sort((one, other) => one - other));
            expect(nextTime(rule, at)).toBe(all.find((time) => time > at) ?? nextTime(rule, at));
          }
        },
      ),
      tries(4),
    );
  });

  it('of a fixed time come once a day, whatever the clocks of a zone do', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...changing),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        (zone, hour, minute) => {
          const change = changeOf(zone) ?? 0;
          const clock = clockReader(zone);
          const times = nextTimes(cron(`${minute} ${hour} * * *`, zone), change - 60 * 60 * minuteMs, 5);
          const days = times.map((at) =>
            Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate().toString(),
          );
          expect(new Set(days).size).toBe(5);
          for (const at of times) {
            // A time that clocks skip comes with the first minute after the gap.
            if (at === change) continue;
            expect([zone, clock(at)]).toEqual([zone, { hour, minute }]);
          }
        },
      ),
      tries(15),
    );
  });

  it('with a wildcard come whenever the clocks of a zone show them', () => {
    fc.assert(
      fc.property(fc.constantFrom(...changing), fc.constantFrom(2, 5, 20, 30), (zone, step) => {
        const clock = clockReader(zone);
        const from = (changeOf(zone) ?? 0) - 100 * minuteMs;
        const shown = Array.from({ length: 300 }, (_none, index) => from + (index + 1) * minuteMs).filter(
          (at) => clock(at).minute % step === 0,
        );
        expect([zone, nextTimes(cron(`*/${step} * * * *`, zone), from, shown.length)]).toEqual([zone, shown]);
      }),
      tries(7),
    );
  });

  it('of an event never come in a gap, and once where clocks show them twice', () => {
    fc.assert(
      fc.property(fc.constantFrom(...changing), fc.constantFrom(10, 15, 30), (zone, step) => {
        const clock = clockReader(zone);
        const from = (changeOf(zone) ?? 0) - 24 * 60 * minuteMs;
        const seen = new Set<string>();
        const shown = Array.from(
          { length: 2 * 24 * 60 },
          (_none, index) => from + (index + 1) * minuteMs,
        ).filter((at) => {
          const local = Temporal.Instant.fromEpochMilliseconds(at)
            .toZonedDateTimeISO(zone)
            .toPlainDateTime()
            .toString();
          const isFirst = !seen.has(local);
          seen.add(local);
          return isFirst && clock(at).minute % step === 0;
        });
        expect([zone, nextTimes(event(`*:0/${step}`, zone), from, shown.length)]).toEqual([zone, shown]);
      }),
      tries(4),
    );
  });
});

/** The same times as those of a cron expression, as a calendar event. */
function eventText(minute: string, hour: string): string {
  const part = (text: string) => text.replace('*/', '0/').replace('-', '..');
  return `*-*-* ${part(hour)}:${part(minute)}`;
}
