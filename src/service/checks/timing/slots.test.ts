import { randomUUID } from 'node:crypto';
import { frequencies, offsetProblem, offsetRule } from '@picket/checks/contract/frequency.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultOffset,
  freshnessMs,
  locationsOf,
  locationsOfSlot,
  nextSlotAfter,
  slotGrid,
  slotIndex,
} from './slots.ts';

const hourMs = 3_600_000;

const sources = fc.tuple(fc.uuid(), fc.constantFrom(...frequencies)).chain(([id, frequency]) => {
  const rule = offsetRule(frequency);
  const offsets =
    'allowed' in rule ? fc.constantFrom(...rule.allowed) : fc.integer({ min: rule.min, max: rule.max });
  return offsets.map((frequencyOffset) => ({ id, frequency, frequencyOffset }));
});
const instants = fc.integer({ min: 0, max: 4_102_444_800_000 });

describe('the slot grid', () => {
  it('puts consecutive slots exactly one interval apart, each the first after the previous one', () => {
    fc.assert(
      fc.property(sources, instants, (source, instant) => {
        const grid = slotGrid(source);
        const first = nextSlotAfter(grid, instant);
        const second = nextSlotAfter(grid, first);
        expect(first).toBeGreaterThan(instant);
        expect(first - instant).toBeLessThanOrEqual(grid.intervalMs);
        expect(second - first).toBe(grid.intervalMs);
        expect(nextSlotAfter(grid, first - 1)).toBe(first);
        expect(slotIndex(grid, second) - slotIndex(grid, first)).toBe(1);
        expect(Number.isInteger(first)).toBe(true);
      }),
    );
  });

  it('keeps the phase inside the interval and inside the step that its offset names', () => {
    fc.assert(
      fc.property(sources, (source) => {
        const { intervalMs, phaseMs } = slotGrid(source);
        expect(phaseMs).toBeGreaterThanOrEqual(0);
        expect(phaseMs).toBeLessThan(intervalMs);
        const { frequency, frequencyOffset } = source;
        if (frequency === 0) return;
        const stepMs = frequency <= 60 ? 6_000 : hourMs;
        expect(Math.floor(phaseMs / stepMs)).toBe(frequencyOffset % (intervalMs / stepMs));
      }),
    );
  });

  it('uses the offset of frequency 0 as the period in seconds', () => {
    const id = randomUUID();
    expect(slotGrid({ id, frequency: 0, frequencyOffset: 20 }).intervalMs).toBe(20_000);
    expect(slotGrid({ id, frequency: 5, frequencyOffset: 20 }).intervalMs).toBe(300_000);
    expect(slotGrid({ id, frequency: 720, frequencyOffset: 3 }).intervalMs).toBe(12 * hourMs);
  });

  it.each([
    ['every 10 seconds', 0, undefined, 10],
    ['every 20 seconds', 0, 20, 20],
    ['every 30 seconds', 0, 30, 30],
    ['every minute', 1, undefined, 60],
    // With 600 different seconds in ten minutes, chance alone makes their counts vary more.
    ['every ten minutes', 10, undefined, 60],
    ['every hour', 60, undefined, 60],
    ['every twelve hours', 720, undefined, 60],
  ])(
    'spreads 10,000 checks that run %s: the busiest second has at most 1.5 times the mean',
    (_often, frequency, offset, periodSeconds) => {
      const perSecond = new Array<number>(periodSeconds).fill(0);
      for (let index = 0; index < 10_000; index += 1) {
        const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
        const frequencyOffset = offset ?? defaultOffset(id, frequency);
        const { phaseMs } = slotGrid({ id, frequency, frequencyOffset });
        const second = Math.floor(phaseMs / 1000) % periodSeconds;
        perSecond[second] = (perSecond[second] ?? 0) + 1;
      }
      expect(Math.max(...perSecond)).toBeLessThanOrEqual((10_000 / periodSeconds) * 1.5);
    },
  );

  it('chooses absent offsets stably and within bounds', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.constantFrom(...frequencies), (id, frequency) => {
        const offset = defaultOffset(id, frequency);
        expect(offsetProblem(frequency, offset)).toBeNull();
        expect(defaultOffset(id, frequency)).toBe(offset);
        if (frequency === 0) expect(offset).toBe(10);
      }),
    );
  });
});

describe('the locations of a slot', () => {
  const grid = { intervalMs: 60_000, phaseMs: 7 };

  it('uses each location in turn', () => {
    fc.assert(
      fc.property(
        instants,
        fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1 }),
        (instant, names) => {
          let slotAt = nextSlotAfter(grid, instant);
          const round = names.map(() => {
            const [only, ...others] = locationsOfSlot(grid, slotAt, names, false);
            expect(others).toEqual([]);
            slotAt += grid.intervalMs;
            return only;
          });
          expect([...round].sort()).toEqual([...names].sort());
          expect(locationsOfSlot(grid, slotAt, names, true)).toEqual(names);
        },
      ),
    );
  });

  it('are empty for a check without locations, and include each one once', () => {
    expect(locationsOfSlot(grid, 7, [], false)).toEqual([]);
    expect(locationsOf({ locations: ['eu-west-1', 'eu-west-1'], privateLocations: ['lab', 'lab'] })).toEqual([
      'eu-west-1',
      'lab',
    ]);
    expect(locationsOf({ locations: null, privateLocations: undefined })).toEqual([]);
  });
});

it('keeps a slot fresh for its interval, at most six minutes', () => {
  expect(freshnessMs({ intervalMs: 10_000, phaseMs: 0 })).toBe(10_000);
  expect(freshnessMs({ intervalMs: 24 * hourMs, phaseMs: 0 })).toBe(360_000);
});
