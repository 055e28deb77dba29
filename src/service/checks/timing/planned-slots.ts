import type { Check } from '../store.ts';
import { notPlanned, type PlannedSlots } from './slot-state.ts';
import { isScheduled, looksAgainAt, restsFrom, type Timing, timingOf } from './timing.ts';

/** Slots that were due, in order, and how many. */
export interface PassedSlots {
  /** The newest three are enough. */
  readonly newest: readonly number[];
  readonly count: number;
  readonly freshMs: number;
}

/** The slots of a check that is created, changed or corrected. */
export function firstPlan(
  check: Pick<Check, 'id' | 'checkType' | 'activated' | 'definition'>,
  now: number,
  before: PlannedSlots = notPlanned,
): PlannedSlots {
  if (!isScheduled(check)) return { ...notPlanned, slotNumber: before.slotNumber };
  const timing = timingOf(check);
  if (timing.isPlain || before.plannedAt !== null) return planAfter(timing, before, now, now);
  return planAfter(timing, { ...before, ...slotsBefore(timing, now) }, now, now);
}

/**
 * The slots of a check whose slots up to an instant are in the ledger.
 *
 * @param passed those that were due since the plan before.
 */
export function planAfter(
  timing: Timing,
  before: PlannedSlots,
  untilMs: number,
  now: number,
  passed?: PassedSlots,
): PlannedSlots {
  const slotNumber = before.slotNumber + (passed?.count ?? 0);
  const nextSlotAt = looksAgainAt(timing, untilMs);
  if (timing.isPlain) return { ...notPlanned, nextSlotAt, slotNumber };
  const known = [before.thirdSlotAt, before.secondSlotAt, before.newestSlotAt];
  const [thirdSlotAt = null, secondSlotAt = null, newestSlotAt = null] = [
    ...known,
    ...(passed?.newest ?? []),
  ].slice(-3);
  return {
    nextSlotAt,
    plannedAt: now,
    newestSlotAt,
    secondSlotAt,
    thirdSlotAt,
    newestFreshMs: passed?.freshMs ?? before.newestFreshMs,
    restsFrom: restsFrom(timing, now, nextSlotAt),
    slotNumber,
  };
}

/** The newest slots of the timetable before an instant, for a check that had another one or none. */
export function slotsBefore({ usual }: Timing, now: number): Partial<PlannedSlots> {
  const newestSlotAt = usual.newest(now);
  const secondSlotAt = newestSlotAt === null ? null : usual.newest(newestSlotAt - 1);
  const thirdSlotAt = secondSlotAt === null ? null : usual.newest(secondSlotAt - 1);
  const newestFreshMs = newestSlotAt === null ? null : usual.freshMs(newestSlotAt);
  return { newestSlotAt, secondSlotAt, thirdSlotAt, newestFreshMs };
}
