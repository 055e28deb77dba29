import { describe, expect, it } from 'vitest';
import { counted, countText } from './count.ts';
import { coarseDurationText, durationText } from './duration.ts';
import { leftText, percentText, share, shareOf, shareOfPercent } from './share.ts';
import { dayText, utcDay, utcText } from './time.ts';

describe('a share', () => {
  it.each([6.45, 100, 1.000001, -0.01, Number.NaN, Number.POSITIVE_INFINITY])('is not %s', (value) => {
    expect(() => share(value)).toThrow('is not a share');
  });

  it('of nothing is unknown, and is computed from parts or from a percentage of the API', () => {
    expect(shareOf(0, 0)).toBeNull();
    expect(shareOf(1, 3)).toBe(1 / 3);
    expect(shareOfPercent(6.45)).toBe(0.0645);
    expect(shareOfPercent(null)).toBeNull();
    expect(() => shareOfPercent(645)).toThrow('is not a share');
  });

  it.each([
    [0, '0 %'],
    [1e-9, '< 0.01 %'],
    [0.0645, '6.45 %'],
    [0.07, '7 %'],
    [0.29, '29 %'],
    [1 / 3, '33.33 %'],
    [0.995, '99.5 %'],
    [0.99995, '99.99 %'],
    [1 - 1e-15, '99.99 %'],
    [1, '100 %'],
  ])('%s is printed as %s', (value, text) => {
    expect(percentText(share(value))).toBe(text);
  });

  it('of whole hundredths is never printed as another value', () => {
    for (let hundredths = 0; hundredths <= 10_000; hundredths += 1) {
      const digits = String(hundredths).padStart(3, '0');
      const text = `${digits.slice(0, -2)}.${digits.slice(-2)} %`
        .replace(/\.?0+ %/, ' %')
        .replace(/^ %/, '0 %');
      expect(percentText(share(hundredths / 10_000))).toBe(text);
      expect(percentText(shareOfPercent(hundredths / 100))).toBe(text);
    }
  });

  it.each([
    [100, '100 %'],
    [99.999, '99.99 %'],
    [0, '0 %'],
    [-0.001, '−0.01 %'],
    [-250, '−250 %'],
  ])('of a remaining budget, %s, is printed as %s', (value, text) => {
    expect(leftText(value)).toBe(text);
  });
});

it.each([
  [-14, '0 ms'],
  [0, '0 ms'],
  [0.0004, '< 0.01 ms'],
  [0.05, '0.05 ms'],
  [0.25, '0.25 ms'],
  [9.96, '10 ms'],
  [42.4, '42 ms'],
  [999.6, '1 s'],
  [9_999, '10 s'],
  [59_949, '59.9 s'],
  [59_999.6, '1 min'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h'],
  [26 * 3_600_000, '26 h'],
  [49 * 3_600_000, '2 d 1 h'],
])('%s ms is %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it('shows ages in one unit, and counts with commas', () => {
  expect([-5, 59_999, 119 * 60_000, 47 * 3_600_000, 48 * 3_600_000].map(coarseDurationText)).toEqual([
    '0 s',
    '59 s',
    '119 min',
    '47 h',
    '2 d',
  ]);
  expect([counted(1, 'check'), counted(1_204, 'check'), countText(20_000)]).toEqual([
    '1 check',
    '1,204 checks',
    '20,000',
  ]);
});

it('shows instants in UTC, of numbers and of texts', () => {
  const at = Date.UTC(2026, 2, 29, 1, 30, 5);
  expect([utcText(at), utcText(new Date(at).toISOString(), 'second'), utcDay(at), dayText(at)]).toEqual([
    '2026-03-29 01:30 UTC',
    '2026-03-29 01:30:05 UTC',
    '2026-03-29',
    '29 Mar 2026',
  ]);
});
