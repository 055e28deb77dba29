/** Least of any number of values, `Infinity` without values: `Math.min(...values)` fails beyond some 100,000. */
export function leastOf(values: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const value of values) if (value < least) least = value;
  return least;
}

/** Returns the greatest of any number of values, `-Infinity` for no values. */
export function greatestOf(values: Iterable<number>): number {
  let greatest = Number.NEGATIVE_INFINITY;
  for (const value of values) if (value > greatest) greatest = value;
  return greatest;
}
