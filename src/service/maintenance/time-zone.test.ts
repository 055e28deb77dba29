import { instantOfLocal, isTimeZone } from '@picket/lib/time-zone.ts';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { occurrence, occurrenceAt, occurrencesFrom, type RepeatRule } from './rule.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const years = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2036, 0, 1) };
const zones = [...Intl.supportedValuesOf('timeZone'), 'UTC', 'US/Eastern'];

const formats = new Map<string, Intl.DateTimeFormat>();
/** The local time according to the runtime's own formatter: `HH:mm`. */
function clock(epochMs: number, timeZone: string): string {
  let format = formats.get(timeZone);
  if (!format) {
    const parts = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone } as const;
    format = new Intl.DateTimeFormat('en-GB', parts);
    formats.set(timeZone, format);
  }
  return format.format(epochMs);
}

/** One zone of each set of zones with equal local time in every month of the ten years. */
function differentZones(): string[] {
  const months = Array.from({ length: 120 }, (_, month) => Date.UTC(2026, month, 1));
  const byTimes = new Map(zones.map((zone) => [months.map((at) => clock(at, zone)).join(), zone]));
  return [...byTimes.values()];
}

/** The clock changes of a zone within the ten years. */
function changesOf(timeZone: string): number[] {
  const found: number[] = [];
  let at: Temporal.ZonedDateTime | null = Temporal.Instant.fromEpochMilliseconds(
    years.from,
  ).toZonedDateTimeISO(timeZone);
  for (;;) {
    at = at.getTimeZoneTransition('next');
    if (at === null || at.epochMilliseconds >= years.to) return found;
    found.push(at.epochMilliseconds);
  }
}

function daily(start: string, end: string, timeZone: string, fields: Partial<RepeatRule> = {}): RepeatRule {
  const instant = (text: string) => instantOfLocal(Temporal.PlainDateTime.from(text), timeZone);
  return {
    startsAt: instant(start),
    endsAt: instant(end),
    repeat: { interval: 1, unit: 'DAY' },
    repeatEndsAt: null,
    timeZone,
    ...fields,
  };
}

describe('a window of a time zone', () => {
  it.each([
    // Spring forward: 02:30 is skipped, and counts as 03:30; the length in hours follows the clocks.
    ['2026-03-27T22:00', '2026-03-28T06:00', '2026-03-28T21:00Z', '2026-03-29T04:00Z'],
    ['2026-03-28T02:30', '2026-03-28T04:30', '2026-03-29T01:30Z', '2026-03-29T02:30Z'],
    // It would end before it starts: it keeps its usual length.
    ['2026-03-28T02:30', '2026-03-28T03:15', '2026-03-29T01:30Z', '2026-03-29T02:15Z'],
    ['2026-03-28T02:15', '2026-03-28T02:45', '2026-03-29T01:15Z', '2026-03-29T01:45Z'],
    // Back: 02:30 occurs twice, and the first counts.
    ['2026-10-24T02:30', '2026-10-24T03:00', '2026-10-25T00:30Z', '2026-10-25T02:00Z'],
    ['2026-10-24T01:30', '2026-10-24T02:30', '2026-10-24T23:30Z', '2026-10-25T00:30Z'],
    ['2026-10-23T22:00', '2026-10-24T06:00', '2026-10-24T20:00Z', '2026-10-25T05:00Z'],
  ])('from %s to %s in Berlin is the day after from %s to %s', (start, end, nextStart, nextEnd) => {
    const next = occurrence(daily(start, end, 'Europe/Berlin'), 1);
    expect([next?.startsAt, next?.endsAt]).toEqual([Date.parse(nextStart), Date.parse(nextEnd)]);
  });

  it('keeps the exact instants of the first occurrence, even in the second of two equal hours', () => {
    const second = Date.parse('2026-10-25T01:30Z');
    const rule = {
      ...daily('2026-01-01T00:00', '2026-01-01T01:00', 'Europe/Berlin'),
      startsAt: second,
      endsAt: second + hourMs,
    };
    expect(occurrence(rule, 0)).toMatchObject({ startsAt: second, endsAt: second + hourMs });
    expect(occurrence(rule, 1)?.startsAt).toBe(Date.parse('2026-10-26T01:30Z'));
  });

  it('falls on the last day of shorter months, and on its own day again after them', () => {
    const month = { repeat: { interval: 1, unit: 'MONTH' } as const };
    const rule = daily('2027-01-31T23:30', '2027-02-01T00:30', 'America/New_York', month);
    const starts = [1, 2, 3].map((index) => new Date(occurrence(rule, index)?.startsAt ?? 0).toISOString());
    expect(starts).toEqual([
      '2027-03-01T04:30:00.000Z',
      '2027-04-01T03:30:00.000Z',
      '2027-05-01T03:30:00.000Z',
    ]);
  });

  it('has no occurrence beyond the displayable years', () => {
    const rule = daily('2026-01-01T01:00', '2026-01-01T02:00', 'Europe/Berlin');
    expect(occurrence(rule, Number.MAX_SAFE_INTEGER)).toBeNull();
    expect(occurrence(rule, 2_912_000)).not.toBeNull();
    expect(occurrenceAt(rule, Date.UTC(9999, 11, 31, 12))).toBeNull();
  });

  it('keeps its local hours for ten years in all zones', () => {
    const different = differentZones();
    expect(different.length).toBeGreaterThan(50);
    for (const timeZone of different) {
      const changes = changesOf(timeZone);
      for (const time of ['02:30', '23:45']) {
        const rule = daily(`2026-01-01T${time}`, '2026-01-02T06:15', timeZone);
        const days = new Set([1, 100, 2_000, 3_650]);
        for (const change of changes) {
          for (const ahead of [-1, 0, 1, 2]) days.add(Math.floor((change - rule.startsAt) / dayMs) + ahead);
        }
        for (const day of days) {
          const one = occurrence(rule, Math.max(0, day));
          if (!one) throw new Error(`${timeZone} ${day}`);
          const { startsAt, endsAt } = one;
          // Only right after a change of the clocks may they show another time.
          const isSkipped = (at: number) => changes.some((change) => change <= at && at < change + dayMs);
          if (!isSkipped(startsAt)) expect(clock(startsAt, timeZone), timeZone).toBe(time);
          if (!isSkipped(endsAt)) expect(clock(endsAt, timeZone), timeZone).toBe('06:15');
          const shift = Number(clock(startsAt, timeZone) !== time);
          expect(startsAt - (rule.startsAt + Math.max(0, day) * dayMs)).toBeLessThanOrEqual(
            dayMs * (1 + shift),
          );
        }
      }
    }
  });

  it('is found from any instant, and is unchanged in UTC', () => {
    const rules = fc.record({
      timeZone: fc.constantFrom(...zones),
      startsAt: fc
        .integer({ min: years.from / 60_000, max: years.to / 60_000 })
        .map((minute) => minute * 60_000),
      minutes: fc.integer({ min: 1, max: 20_000 }),
      repeat: fc.record({
        interval: fc.integer({ min: 1, max: 6 }),
        unit: fc.constantFrom('DAY' as const, 'WEEK' as const, 'MONTH' as const),
      }),
    });
    fc.assert(
      fc.property(rules, fc.integer({ min: 0, max: 3_650 * 24 * 60 }), ({ minutes, ...fields }, ahead) => {
        const rule = { ...fields, endsAt: fields.startsAt + minutes * 60_000, repeatEndsAt: null };
        const instant = rule.startsAt + ahead * 60_000;
        const next = occurrencesFrom(rule, instant).next().value;
        if (!next) throw new Error('there is always a next one');
        expect(next.endsAt).toBeGreaterThan(instant);
        const before = occurrence(rule, next.index - 1);
        if (before) {
          expect(before.endsAt).toBeLessThanOrEqual(instant);
          expect(before.startsAt).toBeLessThanOrEqual(next.startsAt);
        }
        expect(occurrenceAt(rule, instant)?.index).toBe(next.startsAt <= instant ? next.index : undefined);
        const inUtc = occurrence({ ...rule, timeZone: 'UTC' }, next.index);
        expect(occurrence({ ...rule, timeZone: 'Etc/UTC' }, next.index)).toEqual(inUtc);
      }),
      { numRuns: 400 },
    );
  });
});

it.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['America/Argentina/Buenos_Aires', true],
  ['Etc/GMT+5', true],
  ['+02:00', false],
  ['Europe/Atlantis', false],
  ['', false],
  ['Europe/../Berlin', false],
])('%s is a time zone: %s', (name, expected) => expect(isTimeZone(name)).toBe(expected));
