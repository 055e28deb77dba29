import { instantOfLocal, localTime } from '@picket/lib/time-zone.ts';
import type { reportRanges } from '@picket/protocol/results/reporting.ts';

const dayMs = 86_400_000;

/** A period in epoch milliseconds, excluding its end. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/**
 * The window that a name means at an instant (check model 3.6): `last…` of days and hours end now; weeks
 * begin on Monday and months on the 1st, at 00:00 in a time zone.
 */
export function namedWindow(range: (typeof reportRanges)[number], now: number, timeZone = 'UTC'): Window {
  const today = localTime(now, timeZone).toPlainDate();
  const startOf = (day: typeof today) => instantOfLocal(day.toPlainDateTime(), timeZone);
  const monday = today.subtract({ days: today.dayOfWeek - 1 });
  const first = today.with({ day: 1 });
  // Includes results stored in this very millisecond.
  const end = now + 1;
  switch (range) {
    case 'last24Hrs':
      return { from: end - dayMs, to: end };
    case 'last7Days':
      return { from: end - 7 * dayMs, to: end };
    case 'last30Days':
      return { from: end - 30 * dayMs, to: end };
    case 'thisWeek':
      return { from: startOf(monday), to: end };
    case 'lastWeek':
      return { from: startOf(monday.subtract({ weeks: 1 })), to: startOf(monday) };
    case 'thisMonth':
      return { from: startOf(first), to: end };
    case 'lastMonth':
      return { from: startOf(first.subtract({ months: 1 })), to: startOf(first) };
  }
}
