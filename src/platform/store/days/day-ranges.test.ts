import { describe, expect, it } from 'vitest';
import { missingRanges, nameOf } from './day-ranges.ts';

const day = (of: number) => of * 86_400_000;
const days = { aheadDays: 3, lengthDays: 1 };
const weeks = { aheadDays: 3, lengthDays: 7 };

describe('partitions to be added', () => {
  it('are those of today and the next three days', () => {
    expect(missingRanges([], day(10) + 5, days)).toEqual(
      [10, 11, 12, 13].map((from) => ({ from: day(from), to: day(from + 1) })),
    );
  });

  it('begin at the end of the existing ones, and fill the gaps between them', () => {
    const before = { from: Number.NEGATIVE_INFINITY, to: day(11) };
    const later = { from: day(12), to: day(13) };
    expect(missingRanges([before, later], day(10), days)).toEqual([
      { from: day(11), to: day(12) },
      { from: day(13), to: day(14) },
    ]);
  });

  it('of a week reach as far as there is room', () => {
    expect(missingRanges([], day(10), weeks)).toEqual([{ from: day(10), to: day(17) }]);
    expect(missingRanges([{ from: day(12), to: day(19) }], day(10), weeks)).toEqual([
      { from: day(10), to: day(12) },
    ]);
    expect(missingRanges([{ from: day(8), to: day(14) }], day(10), weeks)).toEqual([]);
  });

  it('are named after their day', () => {
    expect(nameOf('results', { from: Date.UTC(2026, 10, 24), to: 0 })).toBe('results_2026_11_24');
  });
});
