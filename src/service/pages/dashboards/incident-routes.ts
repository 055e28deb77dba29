import { randomUUID } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { found, notFound } from '@picket/platform/http/known-names.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import {
  type DashboardIncident,
  type DashboardIncidentUpdate,
  dashboardIncidentRoutes,
} from '@picket/protocol/pages/dashboard-incident.ts';
import type { DashboardIncidentRow, DashboardIncidentUpdateRow } from '../tables.ts';

/** Routes of the incidents of dashboards. */
export function dashboardIncidentHandlers({ store, clock }: HandlerDeps): [string, AnyHandler][] {
  const view = async (accountId: string, id: string): Promise<DashboardIncident> => {
    const { row, dashboardId } = found(
      await store.dashboardIncidents.findShown(accountId, id),
      `incident ${id}`,
    );
    return dashboardIncidentView(row, dashboardId, await store.dashboardIncidents.updates([id]));
  };
  return handlersById(dashboardIncidentRoutes, {
    async createDashboardIncident({ caller, body }) {
      const now = clock.wallMs();
      const [update] = body.incidentUpdates;
      if (!update) throw new Error('the schema lets no incident without an update through');
      const id = randomUUID();
      await store.transaction(async (repositories) => {
        const dashboard = found(
          await repositories.dashboards.findForUpdate(caller.accountId, body.dashboardId),
          `dashboard ${body.dashboardId}`,
        );
        const times = {
          started: Date.parse(body.startedAt),
          stopped: body.stoppedAt === null ? null : Date.parse(body.stoppedAt),
        };
        requireOrder(times);
        await repositories.dashboardIncidents.insert({
          id,
          account_id: caller.accountId,
          dashboard_id: dashboard.id,
          name: body.name,
          impact: body.impact,
          started: times.started,
          stopped: times.stopped ?? (update.status === 'RESOLVED' ? Math.max(now, times.started) : null),
          created: now,
          updated: null,
        });
        await repositories.dashboardIncidents.insertUpdate(updateRow(id, update, now));
      });
      return view(caller.accountId, id);
    },
    async getDashboardIncident({ caller, params }) {
      return view(caller.accountId, params.id);
    },
    async updateDashboardIncident({ caller, params, body }) {
      await store.transaction(async (repositories) => {
        const row = await lockedIncident(repositories, caller.accountId, params.id);
        const changed: DashboardIncidentRow = {
          ...row,
          name: body.name ?? row.name,
          impact: body.impact ?? row.impact,
          started: body.startedAt === undefined ? row.started : Date.parse(body.startedAt),
          stopped:
            body.stoppedAt === undefined
              ? row.stopped
              : body.stoppedAt === null
                ? null
                : Date.parse(body.stoppedAt),
          updated: clock.wallMs(),
        };
        requireOrder(changed);
        await repositories.dashboardIncidents.update(changed);
      });
      return view(caller.accountId, params.id);
    },
    async deleteDashboardIncident({ caller, params }) {
      if (!(await store.dashboardIncidents.delete(caller.accountId, params.id)))
        throw notFound(`incident ${params.id}`);
    },
    async createDashboardIncidentUpdate({ caller, params, body }) {
      const now = clock.wallMs();
      const update = updateRow(params.id, body, now);
      await store.transaction(async (repositories) => {
        const row = await lockedIncident(repositories, caller.accountId, params.id);
        await repositories.dashboardIncidents.insertUpdate(update);
        // Updates of an incident determine whether it is open.
        const isOver = body.status === 'RESOLVED';
        await repositories.dashboardIncidents.update({
          ...row,
          stopped: isOver ? (row.stopped ?? Math.max(now, row.started)) : stillOpen(row, now),
          updated: now,
        });
      });
      return updateView(update);
    },
    async updateDashboardIncidentUpdate({ caller, params, body }) {
      const changed = await store.transaction(async (repositories) => {
        const row = await lockedUpdate(repositories, caller.accountId, params);
        const { status = row.status, description = row.description } = body;
        const next: DashboardIncidentUpdateRow = { ...row, status, description, updated: clock.wallMs() };
        await repositories.dashboardIncidents.changeUpdate(next);
        return next;
      });
      return updateView(changed);
    },
    async deleteDashboardIncidentUpdate({ caller, params }) {
      await store.transaction(async (repositories) => {
        const row = await lockedUpdate(repositories, caller.accountId, params);
        const all = await repositories.dashboardIncidents.updates([params.id]);
        if (all.length === 1) {
          throw fieldError('params', [
            { key: 'updateId', message: 'is the last update of the incident: delete the incident instead' },
          ]);
        }
        await repositories.dashboardIncidents.deleteUpdate(row.id);
      });
    },
  });
}

/** End of an open incident: null, unless it was announced and lies ahead (maintenance). */
function stillOpen({ stopped }: DashboardIncidentRow, now: number): number | null {
  return stopped !== null && stopped > now ? stopped : null;
}

function requireOrder({ started, stopped }: { started: number; stopped: number | null }): void {
  if (stopped === null || stopped >= started) return;
  throw fieldError('payload', [{ key: 'stoppedAt', message: 'must not be before "startedAt"' }]);
}

function updateRow(
  incidentId: string,
  body: Pick<DashboardIncidentUpdateRow, 'status' | 'description'>,
  now: number,
): DashboardIncidentUpdateRow {
  const { status, description } = body;
  return { id: randomUUID(), incident_id: incidentId, status, description, created: now, updated: null };
}

async function lockedIncident(
  repositories: Pick<Repositories, 'dashboardIncidents'>,
  accountId: string,
  id: string,
): Promise<DashboardIncidentRow> {
  return found(await repositories.dashboardIncidents.findForUpdate(accountId, id), `incident ${id}`);
}

async function lockedUpdate(
  repositories: Pick<Repositories, 'dashboardIncidents'>,
  accountId: string,
  { id, updateId }: { readonly id: string; readonly updateId: string },
): Promise<DashboardIncidentUpdateRow> {
  await lockedIncident(repositories, accountId, id);
  const row = (await repositories.dashboardIncidents.updates([id])).find((update) => update.id === updateId);
  if (!row) throw new AppError('NOT_FOUND', `The incident has no update ${updateId}.`);
  return row;
}

/** An incident of a dashboard as responses show it. */
export function dashboardIncidentView(
  row: DashboardIncidentRow,
  dashboardId: string,
  updates: readonly DashboardIncidentUpdateRow[],
): DashboardIncident {
  return {
    id: row.id,
    name: row.name,
    impact: row.impact,
    dashboardId,
    startedAt: iso(row.started),
    stoppedAt: optionalIso(row.stopped),
    incidentUpdates: updates.filter((update) => update.incident_id === row.id).map(updateView),
    created_at: iso(row.created),
    updated_at: optionalIso(row.updated),
  };
}

function updateView(row: DashboardIncidentUpdateRow): DashboardIncidentUpdate {
  return {
    id: row.id,
    status: row.status,
    description: row.description,
    created_at: iso(row.created),
    updated_at: optionalIso(row.updated),
  };
}
