import { localTime } from '@picket/lib/time-zone.ts';
import { QuietHours } from '@picket/protocol/alerts/quiet-hours.ts';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isHeld, quietUntil, threadOf } from './quiet-hours.ts';

const night = (timezone = 'Europe/Berlin') => ({ from: '22:00', until: '07:00', timezone });
const at = (text: string) => Date.parse(text);
const until = (hours: ReturnType<typeof night>, text: string) => {
  const end = quietUntil(hours, at(text));
  return end === null ? null : new Date(end).toISOString();
};

it('lasts from one local time to the other, over midnight and over clock changes', () => {
  expect(until(night(), '2026-07-01T19:59:59Z')).toBeNull();
  expect(until(night(), '2026-07-01T20:00:00Z')).toBe('2026-07-02T05:00:00.000Z');
  expect(until(night(), '2026-07-02T04:59:59Z')).toBe('2026-07-02T05:00:00.000Z');
  expect(until(night(), '2026-07-02T05:00:00Z')).toBeNull();
  // The night of the 29th of March is eight hours long, that of the 25th of October ten.
  expect(until(night(), '2026-03-28T21:00:00Z')).toBe('2026-03-29T05:00:00.000Z');
  expect(until(night(), '2026-10-24T20:00:00Z')).toBe('2026-10-25T06:00:00.000Z');
});

it('begins later if its time is skipped, and at the first if clocks show it twice', () => {
  const early = { from: '02:30', until: '04:00', timezone: 'Europe/Berlin' };
  expect(until(early, '2026-03-29T01:29:59Z')).toBeNull();
  expect(until(early, '2026-03-29T01:30:00Z')).toBe('2026-03-29T02:00:00.000Z');
  expect(until(early, '2026-10-25T00:30:00Z')).toBe('2026-10-25T03:00:00.000Z');
});

it('agrees with the clocks of every zone, except in the hours of a change', () => {
  const zones = [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'America/Havana',
  ];
  const time = fc
    .tuple(fc.nat(23), fc.nat(59))
    .map((parts) => parts.map((one) => String(one).padStart(2, '0')).join(':'));
  const hourMs = 3_600_000;
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      time,
      time,
      fc.integer({ min: at('2020-01-01'), max: at('2030-01-01') }),
      (timezone, from, end, instant) => {
        fc.pre(from !== end);
        const offsetOf = (one: number) =>
          at(`${localTime(one, timezone).toString({ smallestUnit: 'second' })}Z`) -
          Math.floor(one / 1000) * 1000;
        const offsets = [-26, 0, 26].map((hours) => offsetOf(instant + hours * hourMs));
        fc.pre(new Set(offsets).size === 1);
        const now = localTime(instant, timezone).toPlainTime().toString().slice(0, 5);
        const isIn = from < end ? now >= from && now < end : now >= from || now < end;
        const ends = quietUntil({ from, until: end, timezone }, instant);
        expect(ends !== null).toBe(isIn);
        if (ends === null) return;
        expect(localTime(ends, timezone).toPlainTime().toString().slice(0, 5)).toBe(end);
        expect(quietUntil({ from, until: end, timezone }, ends)).toBeNull();
      },
    ),
  );
});

it('refuses invalid times and zones, and hours without a length', () => {
  const refused = [{ ...night(), from: '24:00' }, night('Berlin'), { ...night(), until: '22:00' }];
  for (const hours of refused) expect(QuietHours.safeParse(hours).success).toBe(false);
  expect(QuietHours.parse({ from: '22:00', until: '07:00' })).toEqual({
    ...night('UTC'),
    exceptFailures: false,
  });
});

it('holds everything except tests, or everything except failures and their recoveries', () => {
  const facts = { recoversFrom: null } as const;
  expect(isHeld({ exceptFailures: false }, 'failure', facts)).toBe(true);
  expect(isHeld({ exceptFailures: false }, 'failure', { ...facts, subject: 'test' })).toBe(false);
  expect(isHeld({ exceptFailures: true }, 'failure', facts)).toBe(false);
  expect(isHeld({ exceptFailures: true }, 'recovery', { recoversFrom: 'failure' })).toBe(false);
  expect(isHeld({ exceptFailures: true }, 'recovery', { recoversFrom: 'degraded' })).toBe(true);
  expect(isHeld({ exceptFailures: true }, 'gap', { ...facts, subject: 'gap' })).toBe(true);
});

it('separates the alerts of a check, its certificate and its gaps', () => {
  const check = { runLocation: 'lab' };
  const threads = [
    threadOf('failure', check),
    threadOf('ssl', check),
    threadOf('gap', { subject: 'gap', runLocation: 'lab' }),
    threadOf('gap', { subject: 'gap', runLocation: 'office' }),
  ];
  expect(new Set(threads).size).toBe(4);
  expect(threadOf('recovery', { runLocation: 'office' })).toBe(threads[0]);
});
