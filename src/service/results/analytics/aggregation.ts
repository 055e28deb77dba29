import type { Aggregation } from '@picket/protocol/results/analytics.ts';
import { numbersOfRanks } from './rank.ts';

/** Share of values at or below a percentile; percentiles are values that occur (nearest rank). */
const shares: Partial<Record<Aggregation, number>> = {
  median: 0.5,
  p50: 0.5,
  p90: 0.9,
  p95: 0.95,
  p99: 0.99,
};

/**
 * Several aggregations of the same numbers, ignoring NaN; null if no number is left. `stddev` is that of the numbers
 * themselves, not an estimate for a population they were sampled from.
 */
export function aggregate(
  values: Float64Array,
  wanted: readonly Aggregation[],
): Map<Aggregation, number | null> {
  let count = 0;
  let sum = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let place = 0; place < values.length; place += 1) {
    const value = values[place] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    count += 1;
    sum += value;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (count === 0) return new Map(wanted.map((aggregation) => [aggregation, null]));
  const average = sum / count;
  const simple = { sum, min, max, avg: average } as const;
  const answers = new Map<Aggregation, number | null>();
  const ranks = new Map<Aggregation, number>();
  for (const aggregation of wanted) {
    const share = shares[aggregation];
    if (share !== undefined) ranks.set(aggregation, Math.max(0, Math.ceil(share * count) - 1));
    else if (aggregation === 'stddev') answers.set('stddev', deviation(values, count, average));
    else answers.set(aggregation, simple[aggregation as keyof typeof simple]);
  }
  if (ranks.size === 0) return answers;
  const numbers = numbersOfRanks(values, { count, min, max }, [...ranks.values()]);
  for (const [aggregation, rank] of ranks) answers.set(aggregation, numbers.get(rank) ?? null);
  return answers;
}

function deviation(values: Float64Array, count: number, average: number): number {
  let squares = 0;
  for (let place = 0; place < values.length; place += 1) {
    const value = values[place] ?? Number.NaN;
    if (!Number.isNaN(value)) squares += (value - average) ** 2;
  }
  return Math.sqrt(squares / count);
}
