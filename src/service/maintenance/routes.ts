import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById, iso } from '@picket/platform/feature/handler.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { pageOffset } from '@picket/platform/http/paging.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { instantOf } from '@picket/protocol/http/query.ts';
import { maintenanceRoutes } from '@picket/protocol/pages/maintenance.ts';
import { MaintenanceCalendar, type PlannedMaintenance } from './calendar.ts';
import { endNotice, startNotice } from './notices.ts';
import { mailMaintenance } from './pages.ts';
import type { MaintenanceUpdateRow } from './tables.ts';
import type { StoredWindow } from './window-store.ts';
import {
  addMaintenanceUpdate,
  followUpdates,
  moveMaintenance,
  noMaintenance,
  openMaintenance,
  removeMaintenance,
  statusIn,
} from './writer.ts';

interface MaintenanceIds {
  readonly id: number;
  readonly maintenanceId: number;
}

/** Routes of single occurrences of maintenance windows. */
export function maintenanceHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const { store, clock } = deps;
  const viewOf = async (accountId: string, ids: MaintenanceIds) => {
    const window = found(await store.windows.find(accountId, ids.id), `maintenance window ${ids.id}`);
    const changes = await store.maintenances.changes([window.id]);
    const one = new MaintenanceCalendar(window.definition, changes.get(window.id) ?? []).find(
      ids.maintenanceId,
    );
    if (!one) throw noMaintenance(ids);
    const updates = await store.maintenances.updates(window.id, [one.id]);
    return maintenanceView(window, one, updates, clock.wallMs());
  };
  return handlersById(maintenanceRoutes, {
    async listMaintenances({ caller, params, query }) {
      const window = found(
        await store.windows.find(caller.accountId, params.id),
        `maintenance window ${params.id}`,
      );
      const changes = (await store.maintenances.changes([window.id])).get(window.id) ?? [];
      const now = clock.wallMs();
      const shown = new MaintenanceCalendar(window.definition, changes).from(instantOf(query.from) ?? now, {
        limit: query.limit,
        offset: pageOffset(query),
      });
      const updates = await store.maintenances.updates(
        window.id,
        shown.map(({ id }) => id),
      );
      return shown.map((one) => maintenanceView(window, one, updates, now));
    },
    async getMaintenance({ caller, params }) {
      return viewOf(caller.accountId, params);
    },
    async updateMaintenance({ caller, params, body }) {
      await store.transaction(async (repositories) => {
        const opened = await openMaintenance(repositories, caller.accountId, params);
        await moveMaintenance(repositories, opened, datesOf(body));
      });
      return viewOf(caller.accountId, params);
    },
    async deleteMaintenance({ caller, params }) {
      await store.transaction(async (repositories) => {
        await removeMaintenance(repositories, await openMaintenance(repositories, caller.accountId, params));
      });
    },
    async createMaintenanceUpdate({ caller, params, body }) {
      const now = clock.wallMs();
      const row = await store.transaction(async (repositories) => {
        const opened = await openMaintenance(repositories, caller.accountId, params);
        const update = await addMaintenanceUpdate(
          repositories,
          opened,
          {
            description: body.description,
            status: body.status,
            notifySubscribers: body.notifySubscribers,
            dates: datesOf(body.dateAdjustments ?? {}),
          },
          now,
        );
        if (body.notifySubscribers) {
          const { definition, window } = opened;
          await mailMaintenance(repositories, { accountId: window.accountId, definition }, deps, {
            subject: words[update.status],
            text: update.description,
            at: now,
          });
          // Subscribers are notified by this update, so the window's own notice for the same event is not sent.
          const kind = body.status && noticeOf[body.status];
          if (kind)
            await repositories.maintenances.recordNotice({ ...occurrenceOf(update), kind, created: now });
        }
        return update;
      });
      return updateView(row);
    },
    async updateMaintenanceUpdate({ caller, params, body }) {
      const row = await store.transaction(async (repositories) => {
        await openMaintenance(repositories, caller.accountId, params);
        const update = await foundUpdate(repositories, params);
        await repositories.maintenances.describeUpdate(update.id, body.description);
        return { ...update, description: body.description };
      });
      return updateView(row);
    },
    async deleteMaintenanceUpdate({ caller, params }) {
      await store.transaction(async (repositories) => {
        const opened = await openMaintenance(repositories, caller.accountId, params);
        const update = await foundUpdate(repositories, params);
        await repositories.maintenances.deleteUpdate(update.id);
        await followUpdates(repositories, opened);
      });
    },
  });
}

/** Subject of mails by status. */
const words = {
  SCHEDULED: 'Maintenance scheduled',
  IN_PROGRESS: 'Maintenance in progress',
  VERIFYING: 'Maintenance being verified',
  COMPLETED: 'Maintenance completed',
  CANCELLED: 'Maintenance cancelled',
} as const;

const noticeOf = {
  SCHEDULED: null,
  IN_PROGRESS: startNotice,
  VERIFYING: startNotice,
  COMPLETED: endNotice,
  CANCELLED: endNotice,
} as const;

function occurrenceOf({ window_id, occurrence }: MaintenanceUpdateRow) {
  return { window_id, occurrence };
}

async function foundUpdate(
  repositories: Pick<Repositories, 'maintenances'>,
  { id, maintenanceId, updateId }: MaintenanceIds & { readonly updateId: string },
): Promise<MaintenanceUpdateRow> {
  const updates = await repositories.maintenances.updates(id, [maintenanceId]);
  const row = updates.find((update) => update.id === updateId.toLowerCase());
  if (!row) throw new AppError('NOT_FOUND', `The maintenance has no update ${updateId}.`);
  return row;
}

function datesOf(dates: { readonly startsAt?: string | undefined; readonly endsAt?: string | undefined }) {
  return {
    startsAt: dates.startsAt === undefined ? undefined : Date.parse(dates.startsAt),
    endsAt: dates.endsAt === undefined ? undefined : Date.parse(dates.endsAt),
  };
}

function maintenanceView(
  window: StoredWindow,
  planned: PlannedMaintenance,
  updates: readonly MaintenanceUpdateRow[],
  now: number,
) {
  return {
    id: planned.id,
    maintenanceWindowId: window.id,
    name: window.definition.name,
    startsAt: iso(planned.startsAt),
    endsAt: iso(planned.endsAt),
    status: statusIn(window.definition, planned, now),
    updates: updates.filter((row) => row.occurrence === planned.id).map(updateView),
  };
}

/** An update about a maintenance as responses show it. */
export function updateView(row: MaintenanceUpdateRow) {
  const hasDates = row.starts_at !== null || row.ends_at !== null;
  return {
    id: row.id,
    maintenanceWindowId: row.window_id,
    maintenanceId: row.occurrence,
    status: row.status,
    description: row.description,
    notifySubscribers: row.notify_subscribers === 1,
    created_at: iso(row.created),
    previousStatus: row.previous_status,
    previousStartsAt: iso(row.previous_starts_at),
    previousEndsAt: iso(row.previous_ends_at),
    dateAdjustments: hasDates
      ? {
          ...(row.starts_at === null ? {} : { startsAt: iso(row.starts_at) }),
          ...(row.ends_at === null ? {} : { endsAt: iso(row.ends_at) }),
        }
      : null,
  };
}
