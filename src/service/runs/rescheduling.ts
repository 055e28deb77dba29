import type { Signal } from '@picket/platform/store/engine/signals.ts';
import { queuedSignals } from '@picket/platform/store/engine/signals.ts';
import { tagsOf } from '../checks/effective-check.ts';
import type { Check } from '../checks/store.ts';
import { failingAmong } from '../checks/timing/next-runs.ts';
import { firstPlan } from '../checks/timing/planned-slots.ts';
import { locationsOf } from '../checks/timing/slots.ts';
import { areSameSlots, isScheduled, timingOf } from '../checks/timing/timing.ts';
import type { Reschedule, ScheduledCheck } from '../checks/writer.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import { RunNumbers, runsDue } from './due-runs.ts';

/**
 * Updates the runs of a check when it or its group changes. Slots that are already due belong to the check as it was;
 * queued runs of a deactivated check, or at a location it left, are cancelled. The caller holds the check's row and
 * writes the next slot.
 */
export function rescheduler(numbers = new RunNumbers()): Reschedule {
  return async (repositories, before, after, now) => {
    const signals: Signal[] = [];
    let { slots } = before;
    if (slots.nextSlotAt !== null && slots.nextSlotAt <= now) {
      const { accountId } = before;
      const locationIds = await repositories.locations.idsBySlug([accountId]);
      const maintenance = await Maintenance.load(repositories, [accountId], {
        from: slots.nextSlotAt,
        to: now,
      });
      const tags = tagsOf(before);
      const isFailing = (await failingAmong(repositories, [before])).has(before.id);
      const isPaused = (slotAt: number) => maintenance.pauses(accountId, tags, slotAt);
      // A gap may take several rounds.
      while (slots.nextSlotAt !== null && slots.nextSlotAt <= now) {
        const due = runsDue({ ...before, slots }, locationIds, numbers, { now, isPaused, isFailing });
        signals.push(...queuedSignals(await repositories.runs.insert(due.rows)));
        slots = due.planned;
      }
    }
    const keepsSlots = isSameSchedule(before, after) && slots.nextSlotAt !== null;
    const planned = keepsSlots ? slots : firstPlan(after, now, slots);
    const locations = locationsOf(after.definition);
    if (!after.activated) await repositories.runs.cancelQueued(after.id, 'deactivated', [], now);
    else await repositories.runs.cancelQueued(after.id, 'location-removed', locations, now);
    // After the runs: transactions that store results lock runs first, too.
    await repositories.statuses.forgetLocations(
      after.id,
      after.definition.runParallel === true ? locations : [],
    );
    return { planned, signals };
  };
}

function isSameSchedule(before: Check, after: ScheduledCheck): boolean {
  return isScheduled(after) && areSameSlots(timingOf(before), timingOf(after));
}
