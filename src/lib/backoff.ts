/**
 * Full-jitter exponential back-off: a random delay between 0 and min(cap, base * 2^attempt) milliseconds. Jitter over
 * the whole range keeps many clients that failed together from coming back together.
 *
 * @param attempt 0 for the first retry.
 */
export function backoffDelayMs(
  attempt: number,
  options: { readonly baseMs: number; readonly capMs: number; readonly random?: () => number },
): number {
  const { baseMs, capMs, random = Math.random } = options;
  const ceilingMs = Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30));
  return Math.floor(random() * ceilingMs);
}
