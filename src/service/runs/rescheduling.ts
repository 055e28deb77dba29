import type { Clock } from '../../lib/clock.ts';
import { type EffectiveCheck, tagsOf } from '../checks/effective-check.ts';
import type { Check } from '../checks/store.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import type { Signal } from '../store/engine/signals.ts';
import type { Nouns } from '../store/store.ts';
import { firstSlotOf, gridOf, type RunNumbers, runsDue } from './due-runs.ts';
import { queuedSignals } from './scheduler.ts';
import { locationsOf } from './slots.ts';

export interface Rescheduling {
  readonly numbers: RunNumbers;
  readonly now: ReturnType<Clock['wallMs']>;
}

/** What is in effect of a check: its group's settings are applied. */
type Scheduled = Pick<Check, 'id' | 'checkType' | 'activated' | 'definition'>;

/**
 * What follows for the runs of a check when it, or its group, changes. Slots that are due already belong to the check
 * as it was; queued runs of one that is switched off, or at a location it left, are cancelled. The caller holds the
 * check's row and writes the next slot.
 *
 * @returns when the check is due next (null: not scheduled), and the signals to send after the transaction.
 */
export async function reschedule(
  nouns: Nouns,
  before: EffectiveCheck,
  after: Scheduled,
  { now, numbers }: Rescheduling,
): Promise<{ nextSlotAt: number | null; signals: Signal[] }> {
  const signals: Signal[] = [];
  if (before.nextSlotAt !== null && before.nextSlotAt <= now) {
    const { accountId } = before;
    const locationIds = await nouns.locations.idsBySlug([accountId]);
    const maintenance = await Maintenance.load(nouns, [accountId], { from: before.nextSlotAt, to: now });
    const tags = tagsOf(before);
    const due = runsDue(before, now, locationIds, numbers, (slotAt) =>
      maintenance.pauses(accountId, tags, slotAt),
    );
    signals.push(...queuedSignals(await nouns.runs.insert(due)));
  }
  const keepsSlot = isSameSchedule(before, after) && (before.nextSlotAt ?? now) > now;
  const nextSlotAt = keepsSlot ? before.nextSlotAt : firstSlotOf(after, now);
  const locations = locationsOf(after.definition);
  if (!after.activated) await nouns.runs.cancelQueued(after.id, 'deactivated', [], now);
  else await nouns.runs.cancelQueued(after.id, 'location-removed', locations, now);
  // After the runs: whoever stores results locks them first too.
  await nouns.statuses.forgetLocations(after.id, after.definition.runParallel === true ? locations : []);
  return { nextSlotAt, signals };
}

function isSameSchedule(before: Check, after: Scheduled): boolean {
  const [was, is] = [gridOf(before), gridOf(after)];
  const isRunnable = firstSlotOf(after, 0) !== null;
  return (
    was.intervalMs === is.intervalMs &&
    was.phaseMs === is.phaseMs &&
    (before.nextSlotAt !== null) === isRunnable
  );
}
