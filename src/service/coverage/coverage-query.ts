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

/** What is asked about the slots of some checks. All of it is data: it is asked of another thread. */
export interface CoverageQuery extends Span {
  readonly checkIds: readonly string[];
  /** Only slots for this location; null: all. */
  readonly location: string | null;
  /** Length of the intervals that are counted by themselves too; null: none are. */
  readonly intervalMs: number | null;
}

export interface IntervalCoverage {
  /** When the interval begins: a multiple of its length since the epoch. */
  readonly at: number;
  readonly coverage: Coverage;
}

/** How much of what was due of a check was measured. */
export interface CheckCoverage {
  readonly checkId: string;
  readonly total: Coverage;
  /** When the first slot was due that was measured, at any location; null where none was, or no intervals were asked for. */
  readonly firstMeasuredAt: number | null;
  /** Of each interval in which anything was due, oldest first. */
  readonly intervals: readonly IntervalCoverage[];
  readonly byLocation: Readonly<Record<string, Coverage>>;
}

/** Where coverage is asked for: every check that is named has an entry in the answer. */
export interface CoverageSource {
  /** @throws AppError STORE_UNAVAILABLE when the database does not answer, or too much is asked at once. */
  coverage(query: CoverageQuery): Promise<Map<string, CheckCoverage>>;
}

export async function checkCoverages(days: SlotDays, query: CoverageQuery): Promise<CheckCoverage[]> {
  const { checkIds, location, intervalMs } = query;
  const found = await days.within([...new Set(checkIds)], query);
  return [...found].map(([checkId, own]) => ({
    checkId,
    ...coverageOfDays(own, query, location),
    firstMeasuredAt: intervalMs === null ? null : firstEvaluatedAt(own, query),
    intervals: intervalMs === null ? [] : coverageByInterval(own, query, location, intervalMs),
  }));
}

/** The coverage of a window by check, without intervals. */
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

/** The last days in UTC, today included, for `CoverageQuery`. */
export function lastDays(now: number, days: number): Span & { readonly intervalMs: number } {
  const today = Math.floor(now / dayMs) * dayMs;
  return { from: today - (days - 1) * dayMs, to: now + 1, intervalMs: dayMs };
}

/** The bars of days: one for each, also where nothing was due. */
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

/** The coverage of checks together. */
export function totalCoverage(found: ReadonlyMap<string, CheckCoverage>): Coverage {
  return addedCoverage([...found.values()].map(({ total }) => total));
}
