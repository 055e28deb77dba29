/** Maximum time a slot may wait in the queue before it is missed (design, decision 9). */
export const longestFreshnessMs = 6 * 60_000;

/**
 * Longest time a location that gets every n-th slot may lack a measurement: until its second slot after the last
 * measured one can no longer be measured.
 */
export function longestSilenceMs(intervalMs: number, everyNth = 1): number {
  return intervalMs * everyNth * 2 + Math.min(intervalMs, longestFreshnessMs);
}
