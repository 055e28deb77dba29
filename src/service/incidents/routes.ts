import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type Call,
  type HandlerDeps,
  handlersById,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { found, notFound } from '@picket/platform/http/known-names.ts';
import { pageOf } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { parseCursor } from '@picket/protocol/http/cursor.ts';
import {
  type Incident,
  type IncidentUpdate,
  type IncidentUpdateInput,
  incidentRoutes,
} from '@picket/protocol/pages/incident.ts';
import type { Service } from '@picket/protocol/pages/status-page.ts';
import { mailIncidentUpdate } from './subscriber-mails.ts';
import type { ImpactedComponent, IncidentRow, IncidentUpdateRow, ServiceRow } from './tables.ts';
import { durationSeconds } from './timeline.ts';
import {
  addUpdate,
  followUpdates,
  type NewUpdate,
  openIncident,
  requireComponents,
  requireServices,
} from './writer.ts';

const updatesShown = 100;

/** Routes of incidents and their updates. */
export function incidentHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const { store, clock } = deps;
  const view = async (accountId: string, id: string): Promise<Incident> => {
    const [shown] = await views(store, [found(await store.incidents.find(accountId, id), `incident ${id}`)]);
    if (!shown) throw notFound(`incident ${id}`);
    return shown;
  };
  const mailing = { hasMailer: deps.hasMailer ?? false, publicUrl: deps.publicUrl };
  type Change = Pick<Call<typeof incidentRoutes.updateIncident>, 'caller' | 'params' | 'body'>;
  const updateIncident = async ({ caller, params, body }: Change) => {
    await store.transaction(async (repositories) => {
      const row = await locked(repositories, caller.accountId, params.incidentId);
      const { name = row.name, severity = row.severity, services } = body;
      const components = body.components && impacted(body.components);
      await repositories.incidents.update({ ...row, name, severity, updated: clock.wallMs() });
      if (services) {
        const serviceIds = services.map(({ id }) => id.toLowerCase());
        await requireServices(repositories, caller.accountId, serviceIds);
        await repositories.incidents.replaceServices(row.id, serviceIds);
      }
      if (components) {
        await requireComponents(repositories, caller.accountId, idsOf(components));
        await repositories.incidents.replaceComponents(row.id, components);
      }
      if (!services && !components) return;
      const left = [
        ...(await repositories.incidents.services([row.id])),
        ...(await repositories.incidents.components([row.id])),
      ];
      if (left.length > 0) return;
      const message = 'or "components" is required: an incident affects services or components';
      throw fieldError('payload', [{ key: services ? 'services' : 'components', message }]);
    });
    return view(caller.accountId, params.incidentId);
  };
  return handlersById(incidentRoutes, {
    async listIncidents({ caller, query }) {
      const rows = await store.incidents.listBehind(
        caller.accountId,
        query.limit + 1,
        parseCursor(query.nextId),
      );
      return pageOf(rows, query.limit, (shown) => views(store, shown));
    },
    async createIncident({ caller, body }) {
      const now = clock.wallMs();
      const [update] = body.incidentUpdates;
      if (!update) throw new Error('the schema lets no incident without an update through');
      const serviceIds = body.services.map(({ id }) => id.toLowerCase());
      const components = impacted(body.components);
      const id = await store.transaction(async (repositories) => {
        await requireServices(repositories, caller.accountId, serviceIds);
        await requireComponents(repositories, caller.accountId, idsOf(components));
        const opened = await openIncident(
          repositories,
          {
            accountId: caller.accountId,
            name: body.name,
            severity: body.severity,
            serviceIds,
            components,
            update: newUpdate(update, now),
          },
          now,
        );
        await mailIncidentUpdate(repositories, opened.row, opened.update, mailing);
        return opened.row.id;
      });
      return view(caller.accountId, id);
    },
    async getIncident({ caller, params }) {
      return view(caller.accountId, params.incidentId);
    },
    updateIncident,
    patchIncident: updateIncident,
    async deleteIncident({ caller, params }) {
      const isDeleted = await store.incidents.delete(caller.accountId, params.incidentId);
      if (!isDeleted) throw notFound(`incident ${params.incidentId}`);
    },
    async listIncidentUpdates({ caller, params }) {
      const { id } = found(
        await store.incidents.find(caller.accountId, params.incidentId),
        `incident ${params.incidentId}`,
      );
      return (await store.incidents.updates([id])).slice(0, updatesShown).map(updateView);
    },
    async createIncidentUpdate({ caller, params, body }) {
      const now = clock.wallMs();
      const update = await store.transaction(async (repositories) => {
        const incident = await locked(repositories, caller.accountId, params.incidentId);
        const added = await addUpdate(repositories, incident, newUpdate(body, now), now);
        await mailIncidentUpdate(repositories, incident, added, mailing);
        return added;
      });
      return updateView(update);
    },
    async getIncidentUpdate({ caller, params }) {
      const { id } = found(
        await store.incidents.find(caller.accountId, params.incidentId),
        `incident ${params.incidentId}`,
      );
      return updateView(await foundUpdate(store, id, params.incidentUpdateId));
    },
    async updateIncidentUpdate({ caller, params, body }) {
      const changed = await store.transaction(async (repositories) => {
        const incident = await locked(repositories, caller.accountId, params.incidentId);
        const row = await foundUpdate(repositories, incident.id, params.incidentUpdateId);
        const { description = row.description, status = row.status, publicIncidentUpdateDate: date } = body;
        const published = date === undefined ? row.published : Date.parse(date);
        const next: IncidentUpdateRow = { ...row, description, status, published };
        await repositories.incidents.changeUpdate(next);
        await followUpdates(repositories, incident, clock.wallMs());
        return next;
      });
      return updateView(changed);
    },
    async deleteIncidentUpdate({ caller, params }) {
      await store.transaction(async (repositories) => {
        const incident = await locked(repositories, caller.accountId, params.incidentId);
        const row = await foundUpdate(repositories, incident.id, params.incidentUpdateId);
        await repositories.incidents.deleteUpdate(row.id);
        await followUpdates(repositories, incident, clock.wallMs());
      });
    },
  });
}

function impacted(
  components: readonly { readonly componentId: string; readonly impact: ImpactedComponent['impact'] }[],
): ImpactedComponent[] {
  return components.map(({ componentId, impact }) => ({ componentId: componentId.toLowerCase(), impact }));
}

const idsOf = (components: readonly ImpactedComponent[]) => components.map(({ componentId }) => componentId);

function newUpdate(body: IncidentUpdateInput, now: number): NewUpdate {
  const { status, description, notifySubscribers, publicIncidentUpdateDate: date } = body;
  return { status, description, notifySubscribers, published: date === undefined ? now : Date.parse(date) };
}

async function locked(repositories: Repositories, accountId: string, id: string): Promise<IncidentRow> {
  return found(await repositories.incidents.findForUpdate(accountId, id), `incident ${id}`);
}

async function foundUpdate(
  repositories: Pick<Repositories, 'incidents'>,
  incidentId: string,
  id: string,
): Promise<IncidentUpdateRow> {
  const row = (await repositories.incidents.updates([incidentId])).find((update) => update.id === id);
  if (!row) throw new AppError('NOT_FOUND', `The incident has no update ${id}.`);
  return row;
}

async function views(
  repositories: Pick<Repositories, 'incidents'>,
  rows: readonly IncidentRow[],
): Promise<Incident[]> {
  const ids = rows.map(({ id }) => id);
  const updates = Map.groupBy(await repositories.incidents.updates(ids), (update) => update.incident_id);
  const services = Map.groupBy(await repositories.incidents.services(ids), (service) => service.incident_id);
  const components = Map.groupBy(await repositories.incidents.components(ids), (one) => one.incident_id);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    severity: row.severity,
    services: (services.get(row.id) ?? []).map(serviceView),
    components: (components.get(row.id) ?? []).map(({ id, name, status_page_id: statusPageId, impact }) => ({
      ...{ id, name, statusPageId, impact },
    })),
    automationRuleId: row.rule_id,
    incidentUpdates: (updates.get(row.id) ?? []).slice(0, updatesShown).map(updateView),
    lastUpdateStatus: row.last_status,
    duration: durationSeconds(row),
    created_at: iso(row.created),
    updated_at: optionalIso(row.updated),
  }));
}

/** An update of an incident as responses show it. */
export function updateView(row: IncidentUpdateRow): IncidentUpdate {
  return {
    id: row.id,
    description: row.description,
    status: row.status,
    publicIncidentUpdateDate: iso(row.published),
    notifySubscribers: row.notify_subscribers === 1,
    created_at: iso(row.created),
  };
}

/** A service as responses show it. */
export function serviceView(row: ServiceRow): Service {
  return {
    id: row.id,
    name: row.name,
    accountId: row.account_id,
    created_at: iso(row.created),
    updated_at: optionalIso(row.updated),
  };
}
