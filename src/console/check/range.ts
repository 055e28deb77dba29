import { parseTimestamp } from '@picket/protocol/http/query.ts';

const hourMs = 3_600_000;

/** The selectable ranges. */
export const ranges = {
  '1h': { word: '1 hour', ms: hourMs },
  '6h': { word: '6 hours', ms: 6 * hourMs },
  '24h': { word: '24 hours', ms: 24 * hourMs },
  '7d': { word: '7 days', ms: 7 * 24 * hourMs },
  '30d': { word: '30 days', ms: 30 * 24 * hourMs },
} as const;
export type RangeName = keyof typeof ranges;
export const rangeNames = Object.keys(ranges) as RangeName[];

/** The selected period: a named range up to now, or a custom one. */
export interface Range {
  readonly name: RangeName | null;
  readonly from: number;
  readonly to: number;
}

/** Number of bars that approximately fit on a screen. */
const wantedBars = 400;

/**
 * Returns the range of a request; by default the longest that shows each run of the check on one screen.
 *
 * @param slotMs milliseconds between two slots of the check, all its locations taken together.
 */
export function rangeOf(query: URLSearchParams, slotMs: number, now: number): Range {
  const [from, to] = [parseTimestamp(query.get('from') ?? ''), parseTimestamp(query.get('to') ?? '')];
  if (from !== null && to !== null && to > from) return { name: null, from, to };
  const asked = rangeNames.find((one) => one === query.get('range'));
  const fitting = rangeNames.findLast((one) => ranges[one].ms / Math.max(1, slotMs) <= wantedBars);
  const name = asked ?? fitting ?? '1h';
  return { name, from: now - ranges[name].ms, to: now + 1 };
}

/** Returns the query that selects the same range again. */
export function rangeQuery({ name, from, to }: Range): Record<string, string> {
  if (name !== null) return { range: name };
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}
