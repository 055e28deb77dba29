import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { RunVerdict } from '@picket/protocol/pages/public-page.ts';
import type { Aggregate } from '@picket/protocol/results/reporting.ts';
import type { Coverage } from '@picket/protocol/runs/coverage.ts';
import type { ReportedCheck, RunAggregate } from './store.ts';

/** Failures after which the response time still counts, because the target responded. */
export const measuredFailures: ReadonlySet<string> = new Set(
  Object.keys(failureCatalogue).filter(
    (code) =>
      isFailureCode(code) &&
      failureCatalogue[code].owner === 'target' &&
      !failureCatalogue[code].isNetworkError,
  ),
);

/** Figures of a report for the runs in a window; unknown without runs. Types that no agent runs have no times. */
export function aggregateView(
  checkType: string,
  aggregate: RunAggregate | undefined,
  coverage: Coverage,
): Aggregate {
  const nothing = { successRatio: null, avg: null, p95: null, p99: null, coverage };
  if (!aggregate) return nothing;
  const { runCount, passedCount, averageMs, p95Ms, p99Ms } = aggregate;
  const successRatio = (100 * passedCount) / runCount;
  if (findCheckType(checkType)?.pings) return { ...nothing, successRatio };
  return { successRatio, avg: averageMs, p95: p95Ms, p99: p99Ms, coverage };
}

/** Types that no agent runs have no slots: their newest event holds until the next one. */
export function hasSlots({ checkType }: Pick<ReportedCheck, 'checkType'>): boolean {
  return !findCheckType(checkType)?.pings;
}

/** Verdict of a run. A fault of the monitoring says nothing about the target. */
export function verdictOf(run: {
  readonly hasFailures: boolean;
  readonly hasErrors: boolean;
  readonly isDegraded: boolean;
}): RunVerdict {
  if (run.hasFailures) return 'failing';
  if (run.hasErrors) return 'unknown';
  return run.isDegraded ? 'degraded' : 'passing';
}

/** Whether a check with these tags is selected by a dashboard or report. */
export function matchesTags(
  tags: readonly string[],
  { wanted, needsAll }: { readonly wanted: readonly string[]; readonly needsAll: boolean },
): boolean {
  if (wanted.length === 0) return true;
  return needsAll ? wanted.every((tag) => tags.includes(tag)) : wanted.some((tag) => tags.includes(tag));
}
