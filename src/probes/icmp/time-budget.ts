/** Most that the last reply is waited for. */
const maxReplyTimeoutMs = 5000;
/** The name lookup leaves at least this much for the last reply. */
const minReplyTimeoutMs = 1000;
/** A lookup may take this long even when the time limit is short of what the requests need. */
const minLookupTimeoutMs = 1000;
/** Left for judging and answering before the time limit. */
const marginMs = 100;

export interface TimeBudget {
  /** Limit of the name lookup, in milliseconds. */
  readonly lookupTimeoutMs: number;
  /** How long each reply is waited for, in milliseconds, with `remainingMs` left after the lookup. */
  replyTimeoutMs(remainingMs: number): number;
}

/**
 * How the time limit of a probe is divided: the requests keep their pace whatever happens, so the lookup and
 * the wait for the last reply share the rest. A lookup that is too slow for that is the resolver's failure,
 * and never shows as lost packets of the target.
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
