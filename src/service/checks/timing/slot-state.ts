/**
 * When a check is due next, and for checks whose slots are no plain grid what else cannot be computed from the next
 * slot and an interval. Epoch milliseconds.
 */
export interface PlannedSlots {
  /** When the scheduler looks at the check: mostly its next slot. Null for checks that are not scheduled. */
  readonly nextSlotAt: number | null;
  /** When this was computed; null for checks with a plain grid, and the following are null, too. */
  readonly plannedAt: number | null;
  /** The newest slots that were due. */
  readonly newestSlotAt: number | null;
  readonly secondSlotAt: number | null;
  readonly thirdSlotAt: number | null;
  /** How long the newest of them may wait, in milliseconds. */
  readonly newestFreshMs: number | null;
  /** From here up to its next slot the check is outside its hours. */
  readonly restsFrom: number | null;
  /** Number of the next slot: it decides about the location. */
  readonly slotNumber: number;
}

export const notPlanned: PlannedSlots = {
  nextSlotAt: null,
  plannedAt: null,
  newestSlotAt: null,
  secondSlotAt: null,
  thirdSlotAt: null,
  newestFreshMs: null,
  restsFrom: null,
  slotNumber: 0,
};

/**
 * Until when nothing is to be said about a check, because it is outside its hours: until its first run in them should
 * have ended. Null inside its hours.
 */
export function restsUntil(
  { restsFrom: from, nextSlotAt, newestFreshMs }: PlannedSlots,
  now: number,
): number | null {
  if (from === null || nextSlotAt === null || from > now || nextSlotAt <= now) return null;
  return nextSlotAt + (newestFreshMs ?? 0);
}
