import type { QuickRange } from '@picket/protocol/results/analytics.ts';

const dayMs = 86_400_000;

export interface Window {
  /** Epoch milliseconds, inclusive. */
  readonly from: number;
  /** Epoch milliseconds, exclusive. */
  readonly to: number;
}

/**
 * The window that a name stands for. `last…` ends now; weeks begin on Monday 00:00 UTC (ISO 8601), months on the first;
 * the current week and month end now.
 */
export function windowOf(range: QuickRange, now: number): Window {
  const date = new Date(now);
  const midnight = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  const monday = midnight - ((date.getUTCDay() + 6) % 7) * dayMs;
  const monthStart = (offset: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1);
  // One millisecond more, to include results that have just arrived.
  const end = now + 1;
  switch (range) {
    case 'last24Hours':
      return { from: now - dayMs, to: end };
    case 'last7Days':
      return { from: now - 7 * dayMs, to: end };
    case 'last30Days':
      return { from: now - 30 * dayMs, to: end };
    case 'thisWeek':
      return { from: monday, to: end };
    case 'lastWeek':
      return { from: monday - 7 * dayMs, to: monday };
    case 'thisMonth':
      return { from: monthStart(0), to: end };
    case 'lastMonth':
      return { from: monthStart(-1), to: monthStart(0) };
  }
}
