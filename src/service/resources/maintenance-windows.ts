import { fieldError } from '@picket/platform/http/validation.ts';
import { instantOf } from '@picket/protocol/http/query.ts';
import { maintenanceRoutes } from '@picket/protocol/pages/maintenance.ts';
import { maintenanceWindowApi, type WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';
import { lastEnd, ruleOf } from '../maintenance/rule.ts';
import { MaintenanceWindows, windowColumns } from '../maintenance/window-store.ts';
import { type Change, defineResource } from './resource.ts';

/** Maintenance windows. Their table is created by `0005-account-resources`. */
export const windows = defineResource(
  maintenanceWindowApi,
  MaintenanceWindows,
)({
  parts: maintenanceRoutes,
  list: (repository, accountId, { startsAt, endsAt }, page) =>
    repository.listWithin(accountId, { from: instantOf(startsAt), to: instantOf(endsAt) }, page),
  columns,
  view: ({ id, definition }) => ({ ...definition, timezone: definition.timezone ?? 'UTC', id }),
});

/** Changes of occurrences are kept, unless the window now has other occurrences. */
async function columns(
  definition: WindowDefinition,
  now: number,
  change?: Change<MaintenanceWindows>,
): Promise<ReturnType<typeof windowColumns>> {
  const end = lastEnd(ruleOf(definition));
  if (!change && end !== null && end <= now) {
    const key = definition.repeatUnit === null ? 'endsAt' : 'repeatEndsAt';
    throw fieldError('payload', [{ key, message: 'is in the past: the window would have no effect' }]);
  }
  if (!change) return windowColumns(definition);
  const { stored, table } = change;
  if (hasOtherOccurrences(stored.definition, definition)) await table.maintenances.forget(stored.id);
  const changes = await table.maintenances.changes([stored.id]);
  return windowColumns(definition, changes.get(stored.id));
}

/** Whether occurrence numbers of the two windows do not correspond. */
function hasOtherOccurrences(before: WindowDefinition, after: WindowDefinition): boolean {
  return (
    Date.parse(before.startsAt) !== Date.parse(after.startsAt) ||
    // Absent in windows that an older build stored.
    (before.timezone ?? 'UTC') !== after.timezone ||
    before.repeatInterval !== after.repeatInterval ||
    before.repeatUnit !== after.repeatUnit
  );
}
