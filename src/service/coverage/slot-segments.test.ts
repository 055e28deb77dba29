import {
  addedCoverage,
  type Coverage,
  coverageText,
  type SlotOutcome,
} from '@picket/protocol/runs/coverage.ts';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { coverageByInterval, coverageOfDays, DaySlots } from './day-slots.ts';
import {
  decodeSegments,
  encodeSegments,
  joined,
  type SlotSegment,
  type Span,
  slotsWithin,
} from './slot-segments.ts';

const minuteMs = 60_000;
const outcomes: readonly SlotOutcome[] = [
  'evaluated',
  'error',
  'open',
  'missed:no-agent',
  'missed:paused-by-maintenance',
  'cancelled:deactivated',
];

/** Records of a ledger: most on a grid of minutes, some off it, some covering several slots. */
const records = fc
  .array(
    fc.record<SlotSegment>({
      location: fc.constantFrom('lab', 'office'),
      outcome: fc.constantFrom(...outcomes),
      firstAt: fc.oneof(
        fc.integer({ min: 0, max: 60 }).map((minute) => minute * minuteMs),
        fc.integer({ min: 0, max: 60 * minuteMs }),
      ),
      strideMs: fc.constantFrom(minuteMs, 7 * minuteMs, 10_000),
      count: fc.oneof(
        { weight: 4, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.integer({ min: 2, max: 90 }) },
      ),
    }),
    { maxLength: 60 },
  )
  .map((all) => all.map((one) => (one.count === 1 ? { ...one, strideMs: 0 } : one)));

/** Each slot separately. */
const slotsOf = (segments: readonly SlotSegment[]) =>
  segments.flatMap(({ location, outcome, firstAt, strideMs, count }) =>
    Array.from({ length: count }, (_, index) => `${firstAt + index * strideMs} ${location} ${outcome}`),
  );
const sumOf = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
const partsOf = ({ evaluated, errors, missed, maintenance, cancelled, open }: Coverage) =>
  evaluated + errors + sumOf(missed) + maintenance + sumOf(cancelled) + open;
const coverageWithin = (segments: readonly SlotSegment[], window: Span) =>
  coverageOfDays([new DaySlots(segments)], window, null).total;
const span = fc
  .tuple(fc.integer({ min: 0, max: 120 * minuteMs }), fc.integer({ min: 0, max: 120 * minuteMs }))
  .map(([one, two]) => ({ from: Math.min(one, two), to: Math.max(one, two) }));

it('keeps every slot when records are merged and encoded', () => {
  fc.assert(
    fc.property(records, (all) => {
      const kept = decodeSegments(encodeSegments(joined(all)));
      expect(slotsOf(kept).sort()).toEqual(slotsOf(all).sort());
    }),
  );
});

it('counts the due slots of every window, and the parts add up', () => {
  fc.assert(
    fc.property(records, span, (all, window) => {
      const due = slotsOf(all).filter((slot) => {
        const at = Number.parseInt(slot, 10);
        return at >= window.from && at < window.to;
      });
      const coverage = coverageWithin(joined(all), window);
      expect(coverage.due).toBe(due.length);
      expect(coverage.evaluated).toBe(due.filter((slot) => slot.endsWith(' evaluated')).length);
      expect(partsOf(coverage)).toBe(coverage.due);
    }),
  );
});

it('counts each interval and location of a window, and they add up to the window', () => {
  fc.assert(
    fc.property(records, span, fc.constantFrom(minuteMs, 13 * minuteMs), (all, window, intervalMs) => {
      // Split in two, and queried twice: counts of a whole day serve every window that contains it.
      const days = [new DaySlots(all.slice(0, 20)), new DaySlots(all.slice(20))];
      for (const asked of [window, { from: 0, to: 1_000 * minuteMs }, window]) {
        const intervals = coverageByInterval(days, asked, { location: null, intervalMs, isByLocation: true });
        const { total, byLocation } = coverageOfDays(days, asked, null);
        expect(total).toEqual(coverageWithin(all, asked));
        expect(addedCoverage(intervals.map(({ coverage }) => coverage))).toEqual(total);
        expect(addedCoverage(Object.values(byLocation))).toEqual(total);
        expect(coverageOfDays(days, asked, 'lab').total).toEqual(byLocation.lab ?? coverageWithin([], asked));
        for (const { at, coverage, byLocation: parts = {} } of intervals) {
          expect(addedCoverage(Object.values(parts))).toEqual(coverage);
          const own = { from: Math.max(at, asked.from), to: Math.min(at + intervalMs, asked.to) };
          expect(coverage).toEqual(coverageWithin(all, own));
        }
      }
    }),
  );
});

it('takes a few bytes for a day without failures', () => {
  const day = Array.from({ length: 1440 }, (_, minute) => ({
    location: 'lab',
    outcome: 'evaluated' as const,
    firstAt: minute * minuteMs,
    strideMs: 0,
    count: 1,
  }));
  expect(joined(day)).toHaveLength(1);
  expect(encodeSegments(joined(day)).length).toBeLessThan(100);
  expect(
    slotsWithin(joined(day)[0] as SlotSegment, { from: 5 * minuteMs, to: 5 * minuteMs + 1 }),
  ).toMatchObject({
    firstAt: 5 * minuteMs,
    count: 1,
  });
});

it.each([
  [{ evaluated: 10 }, null],
  [{ evaluated: 10, open: 1 }, null],
  [{ evaluated: 99_999, 'missed:no-agent': 1 }, '99.99 % measured'],
  [{ evaluated: 1, error: 1 }, '50 % measured'],
  [{ error: 3 }, 'not measured'],
  [{}, 'not measured'],
])('shows next to an availability what %j slots leave unknown: %j', (counts, text) => {
  const segments = Object.entries(counts).map(([outcome, count]) => ({
    location: 'lab',
    outcome: outcome as SlotOutcome,
    firstAt: 0,
    strideMs: 1,
    count,
  }));
  expect(coverageText(coverageWithin(segments, { from: 0, to: 1_000_000 }))).toBe(text);
});
