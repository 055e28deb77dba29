import type { Analytics, DetailPath } from '../../../checks/contract/metric.ts';

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

function valueAt(value: unknown, path: DetailPath): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}
