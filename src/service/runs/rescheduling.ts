import type { Signal } from '@picket/platform/store/engine/signals.ts';
import { queuedSignals } from '@picket/platform/store/engine/signals.ts';
import { tagsOf } from '../checks/effective-check.ts';
import { firstSlotOf, gridOf, locationsOf } from '../checks/slots.ts';
import type { Check } from '../checks/store.ts';
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
    if (before.nextSlotAt !== null && before.nextSlotAt <= now) {
      const { accountId } = before;
      const locationIds = await repositories.locations.idsBySlug([accountId]);
      const maintenance = await Maintenance.load(repositories, [accountId], {
        from: before.nextSlotAt,
        to: now,
      });
      const tags = tagsOf(before);
      const due = runsDue(before, now, locationIds, numbers, (slotAt) =>
        maintenance.pauses(accountId, tags, slotAt),
      );
      signals.push(...queuedSignals(await repositories.runs.insert(due)));
    }
    const keepsSlot = isSameSchedule(before, after) && (before.nextSlotAt ?? now) > now;
    const nextSlotAt = keepsSlot ? before.nextSlotAt : firstSlotOf(after, now);
    const locations = locationsOf(after.definition);
    if (!after.activated) await repositories.runs.cancelQueued(after.id, 'deactivated', [], now);
    else await repositories.runs.cancelQueued(after.id, 'location-removed', locations, now);
    // After the runs: transactions that store results lock runs first, too.
    await repositories.statuses.forgetLocations(
      after.id,
      after.definition.runParallel === true ? locations : [],
    );
    return { nextSlotAt, signals };
  };
}

function isSameSchedule(before: Check, after: ScheduledCheck): boolean {
  const [was, is] = [gridOf(before), gridOf(after)];
  const isRunnable = firstSlotOf(after, 0) !== null;
  return (
    was.intervalMs === is.intervalMs &&
    was.phaseMs === is.phaseMs &&
    (before.nextSlotAt !== null) === isRunnable
  );
}
