import type { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import type { Verdict } from './state.ts';

/** Flags of one result, as in rows. */
export interface ResultFlags {
  readonly has_failures: 0 | 1;
  readonly has_errors: 0 | 1;
  readonly is_degraded: 0 | 1 | null;
}

/** Verdict of a result; null if something failed on our side and nothing is known about the target. */
export function verdictOf(result: ResultFlags): Verdict | null {
  if (result.has_failures === 1) return 'failed';
  if (result.has_errors === 1) return null;
  return result.is_degraded === 1 ? 'degraded' : 'passed';
}

/**
 * Verdict of a run in several locations, from their reports so far (check model 2.2). It has failed as soon as enough
 * locations have: any, or the percentage in `parallelRunFailureThreshold`. Otherwise it is known once all have
 * reported: if too few failed, the other locations decide.
 *
 * @returns null as verdict if no location reports anything that counts.
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
