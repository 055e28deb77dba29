import type { Aggregation } from '../../protocol/analytics.ts';

/** The share of values at or below a percentile; percentiles are values that occur (nearest rank). */
const shares: Partial<Record<Aggregation, number>> = {
  median: 0.5,
  p50: 0.5,
  p90: 0.9,
  p95: 0.95,
  p99: 0.99,
};

/**
 * Several aggregations of the same values, which it puts into another order. null where there are no values. `stddev` is
 * that of the values themselves, not of a population they were drawn from.
 */
export function aggregate(
  values: Float64Array,
  wanted: readonly Aggregation[],
): Map<Aggregation, number | null> {
  const answers = new Map<Aggregation, number | null>();
  const count = values.length;
  if (count === 0) return new Map(wanted.map((aggregation) => [aggregation, null]));
  let sum = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    sum += value;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  const average = sum / count;
  const simple = { sum, min, max, avg: average } as const;
  const ranked: [number, Aggregation][] = [];
  for (const aggregation of wanted) {
    const share = shares[aggregation];
    if (share !== undefined) ranked.push([Math.max(0, Math.ceil(share * count) - 1), aggregation]);
    else if (aggregation === 'stddev') answers.set('stddev', deviation(values, average));
    else answers.set(aggregation, simple[aggregation as keyof typeof simple]);
  }
  let start = 0;
  for (const [rank, aggregation] of ranked.sort(([left], [right]) => left - right)) {
    select(values, rank, start, count - 1);
    answers.set(aggregation, values[rank] ?? null);
    start = rank;
  }
  return answers;
}

function deviation(values: Float64Array, average: number): number {
  let squares = 0;
  for (const value of values) squares += (value - average) ** 2;
  return Math.sqrt(squares / values.length);
}

/**
 * Moves the value of a rank to its place, smaller ones before it, larger ones after it (quickselect with the median of
 * three). Linear in the number of values, where sorting all of them would take ten times as long.
 */
function select(values: Float64Array, rank: number, first: number, last: number): void {
  let left = first;
  let right = last;
  while (right > left) {
    const pivot = medianOfThree(values[left] ?? 0, values[(left + right) >>> 1] ?? 0, values[right] ?? 0);
    let low = left;
    let high = right;
    while (low <= high) {
      while ((values[low] ?? 0) < pivot) low += 1;
      while ((values[high] ?? 0) > pivot) high -= 1;
      if (low <= high) {
        const swapped = values[low] ?? 0;
        values[low] = values[high] ?? 0;
        values[high] = swapped;
        low += 1;
        high -= 1;
      }
    }
    if (rank <= high) right = high;
    else if (rank >= low) left = low;
    else return;
  }
}

function medianOfThree(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
