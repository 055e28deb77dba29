import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import type { Analytics, DetailPath } from '@picket/checks/contract/metric.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { ResultRow } from '../tables.ts';

/**
 * The numbers of one result that analytics follow: an entry for each of its items (pages), one entry where it
 * has none. Each holds the value of the type's dimension, or of its state, and the metrics that were
 * measured, by name.
 */
export type MeasuredValues = readonly (readonly [
  dimension: string | number | null,
  metrics: Readonly<Record<string, number>>,
])[];

/**
 * Of a run that somebody asked for: it is no part of the schedule, so analytics follow nothing of it. Results of every
 * other run have an entry at least.
 */
export const measuredOnDemand = '[]';

/**
 * Takes out of a detail what its type says is followed over time. It is stored next to the result, so that
 * nobody has to read details, which may be large, to answer a question about a month.
 *
 * @param responseTimeMs null when the target gave no answer to time.
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
 * The numbers of a stored result. Millions of them are read for one answer, so entries are looked at no further than to
 * leave out those that are no pairs; names and values are what `measuredValues` wrote.
 */
export function storedMeasures(text: string): MeasuredValues {
  const values = listOf(text);
  return values.every(isPair) ? values : values.filter(isPair);
}

function isPair(entry: unknown): boolean {
  return Array.isArray(entry) && typeof entry[1] === 'object' && entry[1] !== null;
}

/** Whether the response time is one: the target answered. */
export function wasMeasured(result: Pick<ResultRow, 'check_type' | 'has_errors' | 'code'>): boolean {
  // Types that nobody runs measure nothing.
  if (result.has_errors === 1 || findCheckType(result.check_type)?.pings) return false;
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
