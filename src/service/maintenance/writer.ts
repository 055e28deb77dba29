import { randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { MaintenanceStatus } from '@picket/protocol/pages/maintenance.ts';
import type { WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';
import { MaintenanceCalendar, type PlannedMaintenance, statusAt } from './calendar.ts';
import type { MaintenanceRow, MaintenanceUpdateRow } from './tables.ts';
import type { StoredWindow } from './window-store.ts';

/** Limit of occurrences per window that may differ from its rule: all of them are loaded with the window. */
const maxChanged = 1000;
const maxUpdates = 200;

/** An occurrence of a window that a transaction has locked. */
export interface OpenMaintenance {
  readonly window: StoredWindow;
  readonly definition: WindowDefinition;
  readonly calendar: MaintenanceCalendar;
  readonly planned: PlannedMaintenance;
  /** Changes of it so far. */
  readonly change: MaintenanceRow;
  readonly changes: readonly MaintenanceRow[];
}

/** New dates of an occurrence, in epoch milliseconds; absent ones stay unchanged. */
export interface NewDates {
  readonly startsAt?: number | undefined;
  readonly endsAt?: number | undefined;
}

export interface NewMaintenanceUpdate {
  readonly description: string;
  readonly status: MaintenanceStatus | undefined;
  readonly notifySubscribers: boolean;
  readonly dates: NewDates;
}

/** Status of a maintenance by the settings of its window. */
export function statusIn(
  definition: WindowDefinition,
  planned: PlannedMaintenance,
  now: number,
): MaintenanceStatus {
  return statusAt(planned, now, definition.statusPageVisibility ?? { autoStart: true, autoEnd: true });
}

/**
 * Loads an occurrence that a transaction is going to change.
 *
 * @throws AppError NOT_FOUND if the account does not have the window, or the window does not have the occurrence.
 */
export async function openMaintenance(
  repositories: Pick<Repositories, 'windows' | 'maintenances'>,
  accountId: string,
  ids: { readonly id: number; readonly maintenanceId: number },
): Promise<OpenMaintenance> {
  const window = found(
    await repositories.windows.findForUpdate(accountId, ids.id),
    `maintenance window ${ids.id}`,
  );
  const changes = (await repositories.maintenances.changes([window.id])).get(window.id) ?? [];
  const calendar = new MaintenanceCalendar(window.definition, changes);
  const planned = calendar.find(ids.maintenanceId);
  if (!planned) throw noMaintenance(ids);
  const known = changes.find((row) => row.occurrence === planned.id);
  if (!known && changes.length >= maxChanged) {
    throw new AppError(
      'CONFLICT',
      `${maxChanged} occurrences of the maintenance window ${window.id} were changed already: create a new window.`,
    );
  }
  const change = known ?? {
    window_id: window.id,
    occurrence: planned.id,
    starts_at: null,
    ends_at: null,
    is_deleted: 0,
    stated: null,
    begun: null,
    ended: null,
  };
  return { window, definition: window.definition, calendar, planned, change, changes };
}

export function noMaintenance(ids: { readonly id: number; readonly maintenanceId: number }): AppError {
  return new AppError(
    'NOT_FOUND',
    `The maintenance window ${ids.id} has no occurrence ${ids.maintenanceId}.`,
  );
}

/**
 * Changes the dates of an occurrence.
 *
 * @throws AppError VALIDATION_FAILED if it would end before it starts.
 */
export async function moveMaintenance(
  repositories: Pick<Repositories, 'windows' | 'maintenances'>,
  opened: OpenMaintenance,
  dates: NewDates,
  keyPrefix = '',
): Promise<OpenMaintenance> {
  const { startsAt = opened.planned.startsAt, endsAt = opened.planned.endsAt } = dates;
  if (endsAt <= startsAt) {
    throw fieldError('payload', [{ key: `${keyPrefix}endsAt`, message: 'must be after startsAt' }]);
  }
  return writeChange(repositories, opened, { starts_at: startsAt, ends_at: endsAt });
}

/** Removes an occurrence from its window. */
export async function removeMaintenance(
  repositories: Pick<Repositories, 'windows' | 'maintenances'>,
  opened: OpenMaintenance,
): Promise<void> {
  await writeChange(repositories, opened, { is_deleted: 1 });
}

/** Adds an update about an occurrence and changes the occurrence accordingly. */
export async function addMaintenanceUpdate(
  repositories: Pick<Repositories, 'windows' | 'maintenances'>,
  opened: OpenMaintenance,
  update: NewMaintenanceUpdate,
  now: number,
): Promise<MaintenanceUpdateRow> {
  const { window, planned, definition } = opened;
  const updates = await repositories.maintenances.updates(window.id, [planned.id]);
  if (updates.length >= maxUpdates) {
    throw new AppError('CONFLICT', `The maintenance has ${maxUpdates} updates already.`);
  }
  const areDatesNew = update.dates.startsAt !== undefined || update.dates.endsAt !== undefined;
  const moved = areDatesNew
    ? await moveMaintenance(repositories, opened, update.dates, 'dateAdjustments.')
    : opened;
  const previous = statusIn(definition, planned, now);
  const row: MaintenanceUpdateRow = {
    id: randomUUID(),
    window_id: window.id,
    occurrence: planned.id,
    status: update.status ?? statusIn(definition, moved.planned, now),
    is_stated: update.status === undefined ? 0 : 1,
    description: update.description,
    notify_subscribers: update.notifySubscribers ? 1 : 0,
    previous_status: previous,
    previous_starts_at: planned.startsAt,
    previous_ends_at: planned.endsAt,
    starts_at: update.dates.startsAt ?? null,
    ends_at: update.dates.endsAt ?? null,
    // Keeps two updates in one millisecond in order.
    created: Math.max(now, (updates[0]?.created ?? 0) + 1),
  };
  await repositories.maintenances.insertUpdate(row);
  await followUpdates(repositories, moved);
  return row;
}

/**
 * Recomputes an occurrence from its updates: its status is the last one set, it began with the first IN_PROGRESS or
 * VERIFYING, and ended with the first of the unbroken series at the end that says it is over.
 */
export async function followUpdates(
  repositories: Pick<Repositories, 'windows' | 'maintenances'>,
  opened: OpenMaintenance,
): Promise<void> {
  const updates = await repositories.maintenances.updates(opened.window.id, [opened.planned.id]);
  const stated = updates.filter((row) => row.is_stated === 1);
  let ended: number | null = null;
  for (const { status, created } of stated) {
    if (status !== 'COMPLETED' && status !== 'CANCELLED') break;
    ended = created;
  }
  const begin = stated.findLast(({ status }) => status === 'IN_PROGRESS' || status === 'VERIFYING');
  await writeChange(repositories, opened, {
    stated: stated[0]?.status ?? null,
    begun: begin?.created ?? null,
    ended,
  });
}

async function writeChange(
  repositories: Pick<Repositories, 'windows' | 'maintenances'>,
  opened: OpenMaintenance,
  fields: Partial<MaintenanceRow>,
): Promise<OpenMaintenance> {
  const change = { ...opened.change, ...fields };
  const others = opened.changes.filter((row) => row.occurrence !== change.occurrence);
  const changes = [...others, change];
  await repositories.maintenances.change(change);
  const calendar = new MaintenanceCalendar(opened.window.definition, changes);
  await repositories.windows.setBounds(opened.window.id, calendar.bounds());
  return {
    ...opened,
    change,
    changes,
    calendar,
    planned: calendar.find(change.occurrence) ?? opened.planned,
  };
}
