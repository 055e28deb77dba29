import type { LeasedRun } from '@picket/protocol/agent/agent.ts';
import { longestAheadMs } from '@picket/protocol/agent/lane-slots.ts';

/** The terms of the response that granted a lease, on the monotonic clock. */
export interface LeaseTerms {
  readonly ttlMs: number;
  readonly expiresAtMs: number;
  readonly receivedAtMs: number;
  /** The service's time in the response, in epoch milliseconds. */
  readonly serverTimeMs: number;
}

/**
 * When a run is due, on the monotonic clock: as long after its response was made as its slot is after the time in it.
 * The service's clock may have been set in between, so it is never later than a claim may be ahead.
 */
export function dueTime(run: Pick<LeasedRun, 'slotAt'>, terms: LeaseTerms): number {
  const madeAtMs = terms.expiresAtMs - terms.ttlMs;
  return Math.min(madeAtMs + run.slotAt - terms.serverTimeMs, terms.receivedAtMs + longestAheadMs);
}
