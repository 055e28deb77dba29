import type { reportRanges } from '../../protocol/results/reporting.ts';

const dayMs = 86_400_000;

/** A stretch of time in epoch milliseconds; the end is not part of it. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/**
 * The window that a name means at an instant (check model 3.6): `last…` of days and hours end now; weeks
 * begin on Monday and months on the 1st, at 00:00 UTC.
 */
export function namedWindow(range: (typeof reportRanges)[number], now: number): Window {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const today = Date.UTC(year, month, date.getUTCDate());
  const monday = today - ((date.getUTCDay() + 6) % 7) * dayMs;
  // What was stored in this very millisecond belongs to it.
  const end = now + 1;
  switch (range) {
    case 'last24Hrs':
      return { from: end - dayMs, to: end };
    case 'last7Days':
      return { from: end - 7 * dayMs, to: end };
    case 'last30Days':
      return { from: end - 30 * dayMs, to: end };
    case 'thisWeek':
      return { from: monday, to: end };
    case 'lastWeek':
      return { from: monday - 7 * dayMs, to: monday };
    case 'thisMonth':
      return { from: Date.UTC(year, month, 1), to: end };
    case 'lastMonth':
      return { from: Date.UTC(year, month - 1, 1), to: Date.UTC(year, month, 1) };
  }
}
