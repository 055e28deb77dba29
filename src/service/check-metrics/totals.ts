import { findCheckType } from '@picket/checks/index.ts';
import { pausedReason } from '@picket/protocol/runs/slot.ts';
import { type MeasuredValues, storedMeasures, wasMeasured } from '../results/analytics/measured-values.ts';
import type { RunRow } from '../runs/tables.ts';

/** Outcomes of a slot as metrics count them. */
export const countedOutcomes = [
  'passed',
  'degraded',
  'failed',
  'error',
  'missed',
  'maintenance',
  'cancelled',
] as const;
export type CountedOutcome = (typeof countedOutcomes)[number];

/** Upper bounds of the buckets, in microseconds. They are part of the stored data: other bounds need another table. */
export const responseBoundsUs = [
  50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 15_000_000, 60_000_000,
] as const;
export const phaseBoundsUs = [10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000] as const;

/** Distribution of durations. Counts are per bucket, not cumulative; the last bucket is unbounded. */
export interface Distribution {
  /** Integer microseconds: integer sums are the same in any order, so they never appear to decrease. */
  sumUs: number;
  readonly counts: number[];
}

/** The latest run that ended with a result. */
export interface LastRun {
  readonly ended: number;
  readonly hasPassed: boolean;
  /** False if the run ended by a fault of the monitoring; absent in data of older builds. */
  readonly isJudged?: boolean;
  /** Null if the target gave no response to time. */
  readonly responseUs: number | null;
  readonly measured: MeasuredValues;
}

/** Totals of the runs of a check at a location. */
export interface Totals {
  readonly outcomes: Partial<Record<CountedOutcome, number>>;
  readonly response: Distribution;
  readonly phases: Record<string, Distribution>;
  last: LastRun | null;
}

/** A finished run with its final result, if any. */
export interface EndedRun
  extends Pick<RunRow, 'id' | 'check_id' | 'slot_location' | 'slot_count' | 'check_session_id' | 'reason'> {
  readonly ended: number;
  readonly state: 'final' | 'missed' | 'cancelled';
  readonly check_type: string;
  readonly has_failures: 0 | 1 | null;
  readonly has_errors: 0 | 1 | null;
  readonly is_degraded: 0 | 1 | null;
  readonly code: string | null;
  readonly response_time: number | null;
  readonly measured: string | null;
}

/** Number of pages remembered from the last run of a browser check. */
const rememberedItems = 5;

export function noTotals(): Totals {
  return { outcomes: {}, response: emptyDistribution(responseBoundsUs), phases: {}, last: null };
}

/** Adds a scheduled run to totals; ignores on-demand runs. The order of runs does not affect the result. */
export function addRun(totals: Totals, run: EndedRun): void {
  if (run.check_session_id !== null) return;
  const outcome = countedOutcome(run);
  totals.outcomes[outcome] = (totals.outcomes[outcome] ?? 0) + run.slot_count;
  if (run.state !== 'final') return;
  const { check_type: checkType, code, has_errors: hasErrors, response_time: responseTimeMs } = run;
  const isTimed =
    responseTimeMs !== null &&
    wasMeasured({
      check_type: checkType,
      has_errors: hasErrors === 1 ? 1 : 0,
      code,
      response_time: responseTimeMs,
    });
  const responseUs = isTimed ? Math.round(responseTimeMs * 1000) : null;
  if (responseUs !== null) addTime(totals.response, responseBoundsUs, responseUs);
  const measured = run.measured === null ? [] : storedMeasures(run.measured);
  const values = measured[0]?.[1] ?? {};
  for (const name of phasesOf(checkType)) {
    const value = values[name];
    if (value === undefined) continue;
    const distribution = totals.phases[name] ?? emptyDistribution(phaseBoundsUs);
    totals.phases[name] = distribution;
    addTime(distribution, phaseBoundsUs, Math.round(value * 1000));
  }
  if (totals.last !== null && totals.last.ended > run.ended) return;
  totals.last = {
    ended: run.ended,
    hasPassed: outcome === 'passed' || outcome === 'degraded',
    isJudged: outcome !== 'error',
    responseUs,
    measured: measured.slice(0, rememberedItems),
  };
}

/** Merges the totals of two parts of the runs of a check at a location. */
export function mergeTotals(left: Totals, right: Totals): Totals {
  const merged = noTotals();
  for (const part of [left, right]) {
    for (const outcome of countedOutcomes) {
      const count = part.outcomes[outcome];
      if (count !== undefined) merged.outcomes[outcome] = (merged.outcomes[outcome] ?? 0) + count;
    }
    addDistribution(merged.response, part.response);
    for (const [name, distribution] of Object.entries(part.phases)) {
      const sum = merged.phases[name] ?? emptyDistribution(phaseBoundsUs);
      merged.phases[name] = sum;
      addDistribution(sum, distribution);
    }
    if (part.last && (merged.last === null || merged.last.ended <= part.last.ended)) merged.last = part.last;
  }
  return merged;
}

/** Verdict of a result as metrics name it. */
export function verdictOf({
  has_errors: hasErrors,
  has_failures: hasFailures,
  is_degraded: isDegraded,
}: Pick<EndedRun, 'has_errors' | 'has_failures' | 'is_degraded'>):
  | 'passed'
  | 'degraded'
  | 'failed'
  | 'error' {
  if (hasErrors === 1) return 'error';
  if (hasFailures === 1) return 'failed';
  return isDegraded === 1 ? 'degraded' : 'passed';
}

function countedOutcome(run: EndedRun): CountedOutcome {
  if (run.state === 'final') return verdictOf(run);
  return run.reason === pausedReason ? 'maintenance' : run.state;
}

const phasesByType = new Map<string, readonly string[]>();

/** Durations that analytics of a type tracks, except the total. */
export function phasesOf(checkType: string): readonly string[] {
  const known = phasesByType.get(checkType);
  if (known) return known;
  const metrics = findCheckType(checkType)?.analytics?.metrics ?? [];
  const names = metrics
    .filter(({ unit, path, isPerItem, name }) => unit === 'ms' && path && !isPerItem && name !== 'total')
    .map(({ name }) => name);
  phasesByType.set(checkType, names);
  return names;
}

function emptyDistribution(boundsUs: readonly number[]): Distribution {
  return { sumUs: 0, counts: Array.from({ length: boundsUs.length + 1 }, () => 0) };
}

function addTime(distribution: Distribution, boundsUs: readonly number[], timeUs: number): void {
  const found = boundsUs.findIndex((bound) => timeUs <= bound);
  const bucket = found === -1 ? boundsUs.length : found;
  distribution.counts[bucket] = (distribution.counts[bucket] ?? 0) + 1;
  distribution.sumUs += timeUs;
}

function addDistribution(sum: Distribution, added: Distribution): void {
  sum.sumUs += added.sumUs;
  for (const [index, count] of added.counts.entries()) sum.counts[index] = (sum.counts[index] ?? 0) + count;
}
