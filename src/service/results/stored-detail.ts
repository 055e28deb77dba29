import type { FailedTest } from '@picket/checks/contract/check-type.ts';
import { noFacts, type RunFacts } from '@picket/checks/contract/facts.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { toError } from '@picket/lib/errors.ts';
import { describeIssues } from '@picket/platform/http/validation.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { measuredValues } from './analytics/measured-values.ts';

const parsedDetail = storedValue<object>('results.detail', {});

/** Target of a run, if its detail contains it. */
export type RunTarget = Pick<RunFacts, 'host' | 'address'>;

/** Result of processing a reported detail. */
export interface StoredDetail {
  readonly detail: string | null;
  readonly problem: string | null;
  readonly target: RunTarget;
  /** Values of it that analytics tracks, as JSON. */
  measure(responseTimeMs: number | null): string | null;
}

/**
 * Prepares a detail for storage: nothing is stored if it does not match the schema of its type. The verdict counts
 * without it; a newer agent may report things that this service does not know.
 */
export function storedDetail(checkType: string, reported: unknown): StoredDetail {
  const type = findCheckType(checkType);
  const measureOf = (detail: unknown) => (responseTimeMs: number | null) =>
    type ? JSON.stringify(measuredValues(type.analytics, detail, responseTimeMs)) : null;
  const none = { detail: null, problem: null, target: noFacts, measure: measureOf(null) };
  if (reported === null || reported === undefined) return none;
  if (!type) return { ...none, problem: `this service does not know checks of type ${checkType}` };
  const parsed = type.detail.safeParse(reported);
  if (!parsed.success) return { ...none, problem: describeIssues(parsed.error.issues, 'detail') };
  const detail = asJson(parsed.data);
  if (detail === null) return { ...none, problem: 'detail: is nested too deeply' };
  const target = type.facts?.(parsed.data) ?? noFacts;
  return { detail, problem: null, target, measure: measureOf(parsed.data) };
}

/** Tests in which errors of a stored detail occurred. */
export function failedTests(checkType: string, detail: string | null): readonly FailedTest[] {
  const type = findCheckType(checkType);
  return detail === null || !type?.failedTests ? [] : type.failedTests(parsedDetail(detail));
}

/** Plan that the run of a stored detail left for later runs of its check; null if it left none. */
export function leftPlan(checkType: string, detail: string | null) {
  const type = findCheckType(checkType);
  return detail === null || !type?.planOf ? null : type.planOf(parsedDetail(detail));
}

/** JSON of an external value, or null if it is nested too deeply for the stack. */
export function asJson(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    if (toError(thrown) instanceof RangeError) return null;
    throw thrown;
  }
}
