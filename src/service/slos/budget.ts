import type { SloStatus } from '@picket/protocol/results/slo.ts';
import type { Coverage } from '@picket/protocol/runs/coverage.ts';

/** Outcomes of the evaluated runs of checks in a window, and its coverage. */
export interface MeasuredRuns {
  readonly runCount: number;
  readonly passedCount: number;
  readonly coverage: Coverage;
}

/**
 * Remaining error budget. A target of 99.9 % allows one run in a thousand to fail. Slots that were not measured prove
 * nothing, so there are two results: one for measured runs only, and one as if all slots that should have been measured
 * and were not had failed. Slots in maintenance and cancelled ones need no measurement; open slots are still to end.
 */
export function errorBudget(
  target: number,
  { runCount, passedCount, coverage }: MeasuredRuns,
): SloStatus['errorBudget'] {
  const failedRuns = runCount - passedCount;
  const missed = Object.values(coverage.missed).reduce((sum, count) => sum + count, 0);
  const unknown = missed + coverage.errors;
  return {
    allowedRuns: allowedShare(target) * runCount,
    failedRuns,
    leftPercent: leftPercent(target, failedRuns, runCount),
    leftPercentAtWorst: leftPercent(target, failedRuns + unknown, runCount + unknown),
  };
}

/** How fast the budget is spent: 1 spends exactly all of it over its window; null without runs. */
export function burnRate(
  target: number,
  { runCount, passedCount }: Pick<MeasuredRuns, 'runCount' | 'passedCount'>,
): number | null {
  if (runCount === 0) return null;
  return exact((runCount - passedCount) / runCount / allowedShare(target));
}

export function sloState({
  leftPercent: left,
  leftPercentAtWorst: atWorst,
  allowedRuns,
}: SloStatus['errorBudget']): SloStatus['state'] {
  if (allowedRuns === 0 || left === null || atWorst === null) return 'UNKNOWN';
  if (left < 0) return 'BREACHED';
  return atWorst < 0 ? 'UNPROVEN' : 'MET';
}

function leftPercent(target: number, failed: number, all: number): number | null {
  if (all === 0) return null;
  return exact(100 * (1 - failed / (allowedShare(target) * all)));
}

/** 100 - 99.9 is 0.09999999999999432: without this, an exactly spent budget would count as overspent. */
function allowedShare(target: number): number {
  return exact(100 - target) / 100;
}

function exact(value: number): number {
  return Math.round(value * 1e9) / 1e9;
}
