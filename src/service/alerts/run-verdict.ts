import type { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import type { Verdict } from './state.ts';

/** What one result says, as rows have it. */
export interface ResultFlags {
  readonly has_failures: 0 | 1;
  readonly has_errors: 0 | 1;
  readonly is_degraded: 0 | 1 | null;
}

/** The verdict of a result; null when something of ours went wrong and nothing is known of the target. */
export function verdictOf(result: ResultFlags): Verdict | null {
  if (result.has_failures === 1) return 'failed';
  if (result.has_errors === 1) return null;
  return result.is_degraded === 1 ? 'degraded' : 'passed';
}

/**
 * The verdict of a run in several locations, from what they have reported so far (check model 2.2). It has
 * failed as soon as enough of them have: any, or the percentage of `parallelRunFailureThreshold`. Otherwise
 * it is known when all have reported: a run in which fewer failed than are needed is as the other locations
 * say.
 *
 * @returns null as verdict when no location says anything that counts.
 */
export function parallelVerdict(
  reported: readonly ResultFlags[],
  locationCount: number,
  settings: AlertSettings,
): { readonly verdict: Verdict | null; readonly isFinal: boolean } {
  const verdicts = reported.map(verdictOf);
  const failed = verdicts.filter((verdict) => verdict === 'failed').length;
  const { enabled, percentage } = settings.parallelRunFailureThreshold;
  const isFailed =
    failed > 0 && (!enabled || locationCount < 2 || failed * 100 >= percentage * locationCount);
  if (isFailed) return { verdict: 'failed', isFinal: true };
  const isFinal = reported.length >= locationCount;
  if (verdicts.includes('degraded')) return { verdict: 'degraded', isFinal };
  return { verdict: verdicts.includes('passed') ? 'passed' : null, isFinal };
}
