/** What a client that tries several addresses sees of one. */
export interface Attempt {
  readonly family: 4 | 6;
  /** How long its connection took, in milliseconds; undefined where none was made. */
  readonly connectMs: number | undefined;
  /** How long it took to fail, where it did. */
  readonly failedMs: number;
}

/** RFC 8305 section 8: the next address is tried when the one before has not connected by then. */
const attemptDelayMs = 250;

/**
 * The address that a browser would end up with: families in turn, IPv6 first, each tried 250 ms after the one before or as soon as
 * that one has failed; the first connection wins.
 *
 * @returns its place in the list; undefined where none connects.
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
