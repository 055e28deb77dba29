import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import type { Analytics, DetailPath } from '@picket/checks/contract/metric.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { ResultRow } from '../tables.ts';

/**
 * Numbers of one result that analytics tracks: an entry per item (page), or one entry if it has none. Each holds the
 * value of the type's dimension or the state, and the measured metrics by name.
 */
export type MeasuredValues = readonly (readonly [
  dimension: string | number | null,
  metrics: Readonly<Record<string, number>>,
])[];

/**
 * For an on-demand run, which is not part of the schedule, so analytics ignores it. Results of all other runs have at
 * least one entry.
 */
export const measuredOnDemand = '[]';

/**
 * Extracts the values that a type tracks over time from a detail. They are stored next to the result, so that a
 * question about a month does not require reading details, which may be large.
 *
 * @param responseTimeMs null if the target gave no response to time.
 */
export function measuredValues(
  analytics: Analytics,
  detail: unknown,
  responseTimeMs: number | null,
): MeasuredValues {
  const items = analytics.items ? valueAt(detail, analytics.items) : undefined;
  const parts: readonly unknown[] = Array.isArray(items) && items.length > 0 ? items : [undefined];
  return parts.map((part) => {
    const metrics: Record<string, number> = {};
    for (const { name, path, isPerItem } of analytics.metrics) {
      const value = path ? valueAt(isPerItem ? part : detail, path) : responseTimeMs;
      if (typeof value === 'number' && Number.isFinite(value)) metrics[name] = value;
    }
    const { states, dimension } = analytics;
    const path = (states ?? dimension)?.path;
    const value = path && valueAt(analytics.items ? part : detail, path);
    return [typeof value === 'string' || typeof value === 'number' ? value : null, metrics];
  });
}

const listOf = storedValue<MeasuredValues>('results.measured', []);

/**
 * Numbers of a stored result. Millions of them are read for one answer, so entries are only checked to be pairs; names
 * and values are what `measuredValues` wrote.
 */
export function storedMeasures(text: string): MeasuredValues {
  const values = listOf(text);
  return values.every(isPair) ? values : values.filter(isPair);
}

function isPair(entry: unknown): boolean {
  return Array.isArray(entry) && typeof entry[1] === 'object' && entry[1] !== null;
}

/** Whether the response time is valid, because the target responded. */
export function wasMeasured(
  result: Pick<ResultRow, 'check_type' | 'has_errors' | 'code' | 'response_time'>,
): boolean {
  if (result.has_errors === 1) return false;
  // The time of a ping is known only if its job also said when it started.
  if (findCheckType(result.check_type)?.pings) return result.response_time > 0;
  if (result.code === null) return true;
  if (!isFailureCode(result.code)) return false;
  const entry = failureCatalogue[result.code];
  return entry.owner === 'target' && !entry.isNetworkError;
}

function valueAt(value: unknown, path: DetailPath): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}
