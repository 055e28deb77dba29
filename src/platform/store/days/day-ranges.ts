import { leastOf } from '@picket/lib/bounds/extremes.ts';
/** Days in UTC, and the ranges of them that have a partition. */

export const dayMs = 86_400_000;

/** A time range that has a partition. */
export interface DayRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** Returns the beginning of an instant's day, in UTC. */
export function dayOf(atMs: number): number {
  return Math.floor(atMs / dayMs) * dayMs;
}

/** Returns the ranges to add so that today and some following days are covered. Existing ranges limit their length. */
export function missingRanges(
  present: readonly DayRange[],
  now: number,
  { aheadDays, lengthDays }: { readonly aheadDays: number; readonly lengthDays: number },
): DayRange[] {
  const missing: DayRange[] = [];
  const last = dayOf(now) + aheadDays * dayMs;
  for (let from = dayOf(now); from <= last; ) {
    const day = from;
    const cover = present.find((one) => one.from <= day && day < one.to);
    if (cover) {
      from = cover.to;
      continue;
    }
    const next = leastOf(present.filter((one) => one.from > day).map((one) => one.from));
    const to = Math.min(from + lengthDays * dayMs, next);
    missing.push({ from, to });
    from = to;
  }
  return missing;
}

/** `results_2026_11_24`. */
export function nameOf(table: string, { from }: DayRange): string {
  return `${table}_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '_')}`;
}
