import {
  addedCoverage,
  type Coverage,
  type DayCoverage,
  measurementOf,
  noCoverage,
} from '@picket/protocol/runs/coverage.ts';
import { coverageByInterval, coverageOfDays, firstEvaluatedAt } from './day-slots.ts';
import type { SlotDays } from './slot-days.ts';
import type { Span } from './slot-segments.ts';

/** Query on the slots of checks. Plain data, because it is sent to another thread. */
export interface CoverageQuery extends Span {
  readonly checkIds: readonly string[];
  /** Only slots for this location; null: all. */
  readonly location: string | null;
  /** Length of additional separate intervals; null: none. */
  readonly intervalMs: number | null;
  /** Whether intervals also have the coverage of each location. */
  readonly isByLocation?: boolean | undefined;
}

export interface IntervalCoverage {
  /** Start of the interval: a multiple of its length since the epoch. */
  readonly at: number;
  readonly coverage: Coverage;
  /** If requested: locations with any due slot. */
  readonly byLocation?: Readonly<Record<string, Coverage>>;
}

/** Share of the due slots of a check that were measured. */
export interface CheckCoverage {
  readonly checkId: string;
  readonly total: Coverage;
  /** Due time of the first measured slot at any location; null without one, or if no intervals were requested. */
  readonly firstMeasuredAt: number | null;
  /** Intervals with any due slot, oldest first. */
  readonly intervals: readonly IntervalCoverage[];
  readonly byLocation: Readonly<Record<string, Coverage>>;
}

/** Source of coverage: the response has an entry for every check in the query. */
export interface CoverageSource {
  /** @throws AppError STORE_UNAVAILABLE if the database does not respond, or too much is requested at once. */
  coverage(query: CoverageQuery): Promise<Map<string, CheckCoverage>>;
}

export async function checkCoverages(days: SlotDays, query: CoverageQuery): Promise<CheckCoverage[]> {
  const { checkIds, location, intervalMs, isByLocation } = query;
  const found = await days.within([...new Set(checkIds)], query);
  return [...found].map(([checkId, own]) => ({
    checkId,
    ...coverageOfDays(own, query, location),
    firstMeasuredAt: intervalMs === null ? null : firstEvaluatedAt(own, query),
    intervals:
      intervalMs === null ? [] : coverageByInterval(own, query, { location, intervalMs, isByLocation }),
  }));
}

/** Coverage of a window by check, without intervals. */
export async function windowCoverage(
  source: CoverageSource,
  checkIds: readonly string[],
  { from, to }: Span,
): Promise<(checkId: string) => Coverage> {
  if (checkIds.length === 0) return () => noCoverage;
  const found = await source.coverage({ checkIds, from, to, location: null, intervalMs: null });
  return (checkId) => found.get(checkId)?.total ?? noCoverage;
}

const dayMs = 86_400_000;

/** The last days in UTC, including today, for `CoverageQuery`. */
export function lastDays(now: number, days: number): Span & { readonly intervalMs: number } {
  const today = Math.floor(now / dayMs) * dayMs;
  return { from: today - (days - 1) * dayMs, to: now + 1, intervalMs: dayMs };
}

/** One entry per day, even if nothing was due. */
export function coverageDays(
  found: readonly CheckCoverage[],
  { from, to }: Span,
): (DayCoverage & { readonly date: string })[] {
  const byDay = Map.groupBy(
    found.flatMap(({ intervals }) => intervals),
    ({ at }) => at,
  );
  const days: (DayCoverage & { readonly date: string })[] = [];
  for (let day = from; day < to; day += dayMs) {
    const coverage = addedCoverage((byDay.get(day) ?? []).map((interval) => interval.coverage));
    const date = new Date(day).toISOString().slice(0, 10);
    days.push({ date, measurement: measurementOf(coverage), coverage });
  }
  return days;
}

/** Combined coverage of checks. */
export function totalCoverage(found: ReadonlyMap<string, CheckCoverage>): Coverage {
  return addedCoverage([...found.values()].map(({ total }) => total));
}
