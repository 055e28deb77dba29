/** Connection attempt of a client to one of several addresses. */
export interface Attempt {
  readonly family: 4 | 6;
  /** Time to connect, in milliseconds; undefined without a connection. */
  readonly connectMs: number | undefined;
  /** Time until the failure, if it failed. */
  readonly failedMs: number;
}

/** RFC 8305 section 8: a client tries the next address if the previous one has not connected within this time. */
const attemptDelayMs = 250;

/**
 * Returns the address that a browser would use: families alternate, IPv6 first, each address tried 250 ms after the one
 * before or as soon as that one has failed; the first connection wins.
 *
 * @returns its index; undefined if no address connects.
 */
export function browsersChoice(attempts: readonly Attempt[]): number | undefined {
  let startMs = 0;
  let best: { readonly index: number; readonly atMs: number } | undefined;
  for (const index of tryingOrder(attempts)) {
    const { connectMs, failedMs } = attempts[index] ?? never();
    if (connectMs !== undefined && (!best || startMs + connectMs < best.atMs)) {
      best = { index, atMs: startMs + connectMs };
    }
    startMs += connectMs === undefined ? Math.min(failedMs, attemptDelayMs) : attemptDelayMs;
    if (best && best.atMs <= startMs) break;
  }
  return best?.index;
}

function tryingOrder(attempts: readonly Attempt[]): number[] {
  const of = (family: 4 | 6) => attempts.flatMap((one, index) => (one.family === family ? [index] : []));
  const [ofSix, ofFour] = [of(6), of(4)];
  const longest = Math.max(ofSix.length, ofFour.length);
  return Array.from({ length: longest }, (_, turn) => [ofSix[turn], ofFour[turn]])
    .flat()
    .filter((index) => index !== undefined);
}

function never(): never {
  throw new Error('no such attempt');
}
