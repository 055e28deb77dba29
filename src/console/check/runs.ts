import { type Slot, slotRoutes } from '@picket/protocol/runs/slot.ts';
import type { SlotFacts } from '../elements/charts/slot-bar.ts';
import { factsOf as storedFacts } from '../overview/row.ts';
import type { PageCall } from '../page.ts';
import type { Range } from './range.ts';

/** Slots that are read one by one: one page of the API. More are counted in intervals. */
export const mostSlots = 1_000;
/** On-demand runs of a range that are shown. */
const mostAsked = 200;

export interface Runs {
  /** Slots of the schedule, oldest first; null if the range has too many to read one by one. */
  readonly slots: readonly SlotFacts[] | null;
  /** Runs on demand, oldest first. */
  readonly asked: readonly SlotFacts[];
}

/**
 * Returns the runs of a check in a range.
 *
 * @param expected number of slots that the range has by the settings of the check; 0 if unknown.
 */
export async function runsIn(
  { api, store }: PageCall,
  checkId: string,
  { from, to }: Range,
  expected: number,
): Promise<Runs> {
  const [page, onDemand] = await Promise.all([
    expected > mostSlots
      ? null
      : api.call(slotRoutes.listCheckSlots, {
          params: { id: checkId },
          query: { from: String(from), to: String(to), limit: mostSlots },
        }),
    store.overviews.onDemandIn(checkId, { from, to }),
  ]);
  // Part of the slots would look like all of them.
  const isWhole = page !== null && typeof page.nextId !== 'string';
  return {
    slots: isWhole ? page.entries.map((slot) => factsOf(checkId, slot)).toReversed() : null,
    asked: onDemand.slice(0, mostAsked).map(storedFacts).toReversed(),
  };
}

function factsOf(checkId: string, slot: Slot): SlotFacts {
  return {
    id: slot.id,
    checkId,
    at: Date.parse(slot.scheduledAt),
    location: slot.location,
    count: slot.slotCount,
    isOnItsWay: slot.state === 'QUEUED' || slot.state === 'LEASED',
    reason: slot.reason,
    resultId: slot.checkResultId,
    verdict: slot.verdict,
    responseTimeMs: slot.responseTime,
    message: null,
    code: null,
    owner: null,
    isOnDemand: false,
    startDelayMs: slot.startDelayMs,
  };
}
