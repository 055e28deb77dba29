import { expect, it } from 'vitest';
import { agreedTime, spanOf } from './arrival-time.ts';

it("is between two ticks of the kernel's count", () => {
  expect(spanOf({ sinceMs: 12, stepMs: 4 }, 100, 100.5)).toEqual({ earliestMs: 84, latestMs: 92.5 });
  // No arrival is later than its read.
  expect(spanOf({ sinceMs: 0, stepMs: 4 }, 100, 100.5)).toEqual({ earliestMs: 96, latestMs: 100.5 });
});

it('is the timestamp if that is reliable, and a narrowed span otherwise', () => {
  const span = { earliestMs: 84, latestMs: 92 };
  expect(agreedTime({ atMs: 90, doubtMs: 0 }, span)).toEqual({ atMs: 90, doubtMs: 0 });
  expect(agreedTime({ atMs: 100, doubtMs: 50 }, span)).toEqual({ atMs: 88, doubtMs: 4 });
  expect(agreedTime({ atMs: 91, doubtMs: 3 }, span)).toEqual({ atMs: 89.5, doubtMs: 1.5 });
});

it.each([
  ['late', 100, 12],
  ['early', 80, 8],
])('is doubtful if a seemingly reliable timestamp is too %s', (_what, atMs, doubtMs) => {
  expect(agreedTime({ atMs, doubtMs: 0 }, { earliestMs: 84, latestMs: 92 })).toEqual({ atMs, doubtMs });
});
