import type { SloDefinition } from '@picket/protocol/results/slo.ts';
import { addedCoverage } from '@picket/protocol/runs/coverage.ts';
import { windowCoverage } from '../coverage/coverage-query.ts';
import type { AnalyticsDeps } from '../results/analytics/routes.ts';
import type { ReportedCheck } from '../results/reports/store.ts';
import type { MeasuredRuns } from './budget.ts';
import type { Runs } from './burn.ts';

interface Window {
  readonly from: number;
  readonly to: number;
}

/** Checks that an objective currently covers. */
export async function checksOfSlo(
  { reports }: AnalyticsDeps['store'],
  accountId: string,
  { checkId, groupId, tags }: SloDefinition,
): Promise<ReportedCheck[]> {
  if (groupId !== null) return reports.checksOfGroup(accountId, groupId);
  if (checkId === null) return reports.checks({ accountId, tags, needsAllTags: false });
  const check = await reports.check(checkId);
  return check?.accountId === accountId ? [check] : [];
}

/** Combined outcomes of the runs of checks in a window. */
export async function runsWithin(
  analytics: AnalyticsDeps['analytics'],
  checks: readonly ReportedCheck[],
  window: Window,
): Promise<Runs> {
  const runs = [...(await analytics.report(checks, window)).values()];
  return {
    runCount: runs.reduce((sum, { runCount }) => sum + runCount, 0),
    passedCount: runs.reduce((sum, { passedCount }) => sum + passedCount, 0),
  };
}

/** Same, with the coverage of the window. */
export async function measuredWithin(
  analytics: AnalyticsDeps['analytics'],
  checks: readonly ReportedCheck[],
  window: Window,
): Promise<MeasuredRuns> {
  const runs = await runsWithin(analytics, checks, window);
  const ids = checks.map(({ id }) => id);
  const coverage = await windowCoverage(analytics, ids, window);
  return { ...runs, coverage: addedCoverage(ids.map(coverage)) };
}
