import { expect, it } from 'vitest';
import { namedWindow } from './window.ts';

const at = (text: string) => Date.parse(text);

it.each([
  // A Wednesday, a Monday at its first moment, a Sunday at its last, and a leap year's March.
  ['2026-01-14T12:00:00Z', 'thisWeek', '2026-01-12T00:00:00Z', '2026-01-14T12:00:00.001Z'],
  ['2026-01-12T00:00:00Z', 'thisWeek', '2026-01-12T00:00:00Z', '2026-01-12T00:00:00.001Z'],
  ['2026-01-11T23:59:59.999Z', 'thisWeek', '2026-01-05T00:00:00Z', '2026-01-12T00:00:00Z'],
  ['2026-01-01T06:00:00Z', 'lastWeek', '2025-12-22T00:00:00Z', '2025-12-29T00:00:00Z'],
  ['2026-01-14T12:00:00Z', 'lastMonth', '2025-12-01T00:00:00Z', '2026-01-01T00:00:00Z'],
  ['2028-03-31T12:00:00Z', 'lastMonth', '2028-02-01T00:00:00Z', '2028-03-01T00:00:00Z'],
  ['2028-02-29T12:00:00Z', 'thisMonth', '2028-02-01T00:00:00Z', '2028-02-29T12:00:00.001Z'],
  ['2026-01-14T12:00:00Z', 'last24Hrs', '2026-01-13T12:00:00.001Z', '2026-01-14T12:00:00.001Z'],
  ['2026-01-14T12:00:00Z', 'last7Days', '2026-01-07T12:00:00.001Z', '2026-01-14T12:00:00.001Z'],
  ['2026-01-14T12:00:00Z', 'last30Days', '2025-12-15T12:00:00.001Z', '2026-01-14T12:00:00.001Z'],
] as const)('at %s %s is %s to %s', (now, range, from, to) => {
  expect(namedWindow(range, at(now))).toEqual({ from: at(from), to: at(to) });
});

it.each([
  // Monday and the 1st begin at midnight in the zone, even if that is in another week or month in UTC.
  ['2026-03-30T12:00:00Z', 'thisWeek', 'Europe/Berlin', '2026-03-29T22:00:00Z', '2026-03-30T12:00:00.001Z'],
  [
    '2026-04-01T03:00:00Z',
    'thisMonth',
    'America/New_York',
    '2026-03-01T05:00:00Z',
    '2026-04-01T03:00:00.001Z',
  ],
  ['2026-04-15T12:00:00Z', 'lastMonth', 'Europe/Berlin', '2026-02-28T23:00:00Z', '2026-03-31T22:00:00Z'],
  ['2026-04-05T22:30:00Z', 'lastWeek', 'Europe/Berlin', '2026-03-29T22:00:00Z', '2026-04-05T22:00:00Z'],
] as const)('at %s %s of %s is %s to %s', (now, range, timeZone, from, to) => {
  expect(namedWindow(range, at(now), timeZone)).toEqual({ from: at(from), to: at(to) });
});
