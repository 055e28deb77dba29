import { parseTimestamp } from '@picket/protocol/http/query.ts';
import { path, withQuery } from '../html.ts';

const hourMs = 3_600_000;

/** The selectable ranges. */
export const ranges = {
  '1h': { word: '1 h', title: 'Last hour', ms: hourMs },
  '6h': { word: '6 h', title: 'Last 6 hours', ms: 6 * hourMs },
  '24h': { word: '24 h', title: 'Last 24 hours', ms: 24 * hourMs },
  '7d': { word: '7 d', title: 'Last 7 days', ms: 7 * 24 * hourMs },
  '30d': { word: '30 d', title: 'Last 30 days', ms: 30 * 24 * hourMs },
  '90d': { word: '90 d', title: 'Last 90 days', ms: 90 * 24 * hourMs },
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
export const mostBars = 400;
/** The longest default range. */
const longestDefault = rangeNames.indexOf('30d');
/** The shortest range that zooming leads to. */
const shortestMs = 60_000;
/** The longest custom range: analytics divides it into intervals of at most 30 days. */
const longestMs = 8 * 365 * 24 * hourMs;

/** Facts that decide the default range of a check. */
export interface RangeFacts {
  /** Number of slots that the check has in a period by its settings, of all its locations; counting may stop at `most`. */
  readonly expected: (period: { readonly from: number; readonly to: number }, most: number) => number;
  readonly now: number;
  /** When the check was created, in epoch milliseconds; absent: long ago. */
  readonly createdAt?: number;
}

/**
 * Returns the range of a request; by default the longest that shows each run of the check on one screen, and is not
 * mostly the time before the check existed.
 */
export function rangeOf(query: URLSearchParams, { expected, now, createdAt = 0 }: RangeFacts): Range {
  const [from, to] = [instantIn(query.get('from')), instantIn(query.get('to'))];
  if (from !== null && to !== null && to > from) {
    return { name: null, from: Math.max(from, to - longestMs), to };
  }
  const asked = rangeNames.find((one) => one === query.get('range'));
  const name = asked ?? usualRange(expected, now, createdAt);
  return { name, from: now - ranges[name].ms, to: now + 1 };
}

function usualRange(expected: RangeFacts['expected'], now: number, createdAt: number): RangeName {
  const lifelong = rangeNames.findIndex((one) => ranges[one].ms >= now - createdAt);
  const longest = lifelong < 0 ? longestDefault : Math.min(lifelong, longestDefault);
  const fits = (one: RangeName) =>
    expected({ from: now - ranges[one].ms, to: now }, mostBars + 1) <= mostBars;
  return rangeNames.slice(0, longest + 1).findLast(fits) ?? '1h';
}

/** An instant of a link, or of a field without a zone, which means UTC: scripts send the reader's times with a zone. */
function instantIn(text: string | null): number | null {
  if (text === null) return null;
  return parseTimestamp(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text) ? `${text}Z` : text);
}

/** Returns the query that selects the same range again. */
export function rangeQuery({ name, from, to }: Range): Record<string, string> {
  if (name !== null) return { range: name };
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** The neighbouring ranges; null where they would lie in the future. */
export function neighbours(range: Range, now: number): Record<'earlier' | 'later' | 'wider', Range | null> {
  const lengthMs = range.to - range.from;
  const at = (from: number, to: number): Range => ({ name: null, from, to });
  const later = Math.min(range.to + lengthMs, now + 1);
  const wide = Math.min(range.to + lengthMs / 2, Math.max(range.to, now + 1));
  return {
    earlier: range.from - lengthMs > 0 ? at(range.from - lengthMs, range.from) : null,
    later: range.to > now - shortestMs ? null : at(later - lengthMs, later),
    wider: wide - 2 * lengthMs > 0 ? at(wide - 2 * lengthMs, wide) : null,
  };
}

/** The view of a page of a check: all of it is in the address. */
export interface Selection {
  readonly checkId: string;
  readonly range: Range;
  /** The only location that is shown; null: all of them. */
  readonly location: string | null;
  /** Whether times are drawn by phase, or as a line for each location. */
  readonly by: 'phase' | 'location';
}

export function selectionOf(checkId: string, query: URLSearchParams, facts: RangeFacts): Selection {
  return {
    checkId,
    range: rangeOf(query, facts),
    location: query.get('location') || null,
    by: query.get('by') === 'location' ? 'location' : 'phase',
  };
}

/** The query of a selection without its range. */
export function viewQuery({ location, by }: Pick<Selection, 'location' | 'by'>): Record<string, string> {
  return { ...(location === null ? {} : { location }), ...(by === 'phase' ? {} : { by }) };
}

/** The page with another selection. */
export function hrefOf(selection: Selection, change: Partial<Selection> = {}): string {
  const changed = { ...selection, ...change };
  return withQuery(path`/checks/${changed.checkId}`, {
    ...rangeQuery(changed.range),
    ...viewQuery(changed),
  });
}

/** A closer view of a part of the range. */
export function zoomHref(selection: Selection, from: number, to: number): string {
  const missing = Math.max(0, shortestMs - (to - from)) / 2;
  return hrefOf(selection, { range: { name: null, from: from - missing, to: to + missing } });
}
