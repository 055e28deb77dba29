/** Longest wait for the last reply. */
const maxReplyTimeoutMs = 5000;
/** The name lookup leaves at least this much for the last reply. */
const minReplyTimeoutMs = 1000;
/** A lookup may take this long even if the time limit is too short for the requests. */
const minLookupTimeoutMs = 1000;
/** Reserved for evaluating and reporting before the time limit. */
const marginMs = 100;

export interface TimeBudget {
  /** Limit of the name lookup, in milliseconds. */
  readonly lookupTimeoutMs: number;
  /** Timeout for each reply, in milliseconds, with `remainingMs` left after the lookup. */
  replyTimeoutMs(remainingMs: number): number;
}

/**
 * Divides the time limit of a probe: the requests keep their pace in any case, so the lookup and the wait for the last
 * reply share the rest. A lookup that is too slow is a failure of the resolver, and never counts as lost packets of the
 * target.
 */
export function timeBudget(options: {
  readonly timeoutMs: number;
  readonly count: number;
  readonly intervalMs: number;
}): TimeBudget {
  const { timeoutMs, count, intervalMs } = options;
  const trainMs = (count - 1) * intervalMs;
  const spareMs = timeoutMs - trainMs - minReplyTimeoutMs - marginMs;
  return {
    lookupTimeoutMs: Math.min(timeoutMs, Math.max(minLookupTimeoutMs, spareMs)),
    replyTimeoutMs: (remainingMs) =>
      Math.min(maxReplyTimeoutMs, Math.max(1, remainingMs - trainMs - marginMs)),
  };
}
