import { failureCatalogue, isFailureCode } from '../../checks/contract/failure.ts';
import { findCheckType } from '../../checks/index.ts';
import type { CheckState } from '../../protocol/pages/public-page.ts';
import type { Aggregate } from '../../protocol/results/reporting.ts';
import { type Coverage, measurementOf } from '../../protocol/runs/coverage.ts';
import type { ReportedCheck, RunAggregate } from './report-store.ts';

/** Failures after which the response time still counts: the target answered. */
export const measuredFailures: ReadonlySet<string> = new Set(
  Object.keys(failureCatalogue).filter(
    (code) =>
      isFailureCode(code) &&
      failureCatalogue[code].owner === 'target' &&
      !failureCatalogue[code].isNetworkError,
  ),
);

/**
 * What a report says of the runs of a window; of none at all, that nothing is known. Types that nobody runs
 * have no times.
 */
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

/** Types that nobody runs have none: their newest event holds until the next one. */
export function hasSlots({ checkType }: Pick<ReportedCheck, 'checkType'>): boolean {
  return !findCheckType(checkType)?.pings;
}

/**
 * The state that pages and badges show: an old one says nothing where nothing was measured in the last 24 hours.
 * Slots that are all open, as of a check that runs once a day, leave it as it was.
 */
export function shownState(
  { checkType, flags }: Pick<ReportedCheck, 'checkType' | 'flags'>,
  lastDay: Coverage,
): CheckState {
  if (!hasSlots({ checkType })) return stateOf(flags);
  const isOpenOnly = lastDay.due > 0 && lastDay.due === lastDay.open;
  return measurementOf(lastDay) === 'NONE' && !isOpenOnly ? 'unknown' : stateOf(flags);
}

/** What the newest result says. A fault of the monitoring says nothing about the target. */
export function stateOf(flags: ReportedCheck['flags']): CheckState {
  if (flags === null) return 'unknown';
  if (flags.hasFailures) return 'failing';
  if (flags.hasErrors) return 'unknown';
  return flags.isDegraded ? 'degraded' : 'passing';
}

const worstFirst: readonly CheckState[] = ['failing', 'degraded', 'unknown', 'passing'];

/** The state of several checks together: the worst one. */
export function worstState(states: readonly CheckState[]): CheckState {
  return worstFirst.find((state) => states.includes(state)) ?? 'unknown';
}

/** Whether a check with these tags is among those a dashboard or report asks for. */
export function matchesTags(
  tags: readonly string[],
  { wanted, needsAll }: { readonly wanted: readonly string[]; readonly needsAll: boolean },
): boolean {
  if (wanted.length === 0) return true;
  return needsAll ? wanted.every((tag) => tags.includes(tag)) : wanted.some((tag) => tags.includes(tag));
}
