import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { OffsetDateTime } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';
import { patchOf } from './page-fields.ts';

const fields = {
  name: z.string().min(1).max(255),
  impact: z.enum(['MAINTENANCE', 'MAJOR', 'MINOR']),
  startedAt: OffsetDateTime,
  stoppedAt: OffsetDateTime.nullable().describe('null while it is open').default(null),
};
const updateFields = {
  status: z.enum(['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED', 'MAINTENANCE']),
  description: z.string().min(1).max(10_000),
};

export const DashboardIncidentInput = lazySchema(() =>
  z
    .object({
      ...fields,
      dashboardId: z.string().min(1).max(64).describe('The dashboard that shows it'),
      incidentUpdates: z.array(z.object(updateFields)).length(1),
    })
    .meta({ id: 'DashboardIncidentInput' }),
);
export const DashboardIncidentPatch = patchOf(fields).meta({ id: 'DashboardIncidentPatch' });
const UpdateInput = lazySchema(() => z.object(updateFields).meta({ id: 'DashboardIncidentUpdateInput' }));
const UpdatePatch = patchOf(updateFields).meta({ id: 'DashboardIncidentUpdatePatch' });

const stamps = { created_at: z.iso.datetime(), updated_at: z.iso.datetime().nullable() };
export const DashboardIncidentUpdate = lazySchema(() =>
  z.object({ id: z.string(), ...updateFields, ...stamps }).meta({ id: 'DashboardIncidentUpdate' }),
);
export type DashboardIncidentUpdate = z.output<typeof DashboardIncidentUpdate.schema>;

/** An incident on a dashboard: the older kind, without services. */
export const DashboardIncident = lazySchema(() =>
  z
    .object({
      id: z.string(),
      name: fields.name,
      impact: fields.impact,
      dashboardId: z.string(),
      startedAt: z.iso.datetime(),
      stoppedAt: z.iso.datetime().nullable(),
      incidentUpdates: z.array(DashboardIncidentUpdate.schema).describe('Newest first'),
      ...stamps,
    })
    .meta({ id: 'DashboardIncident' }),
);
export type DashboardIncident = z.output<typeof DashboardIncident.schema>;
const params = z.object({ id: z.uuid() });
const updateParams = z.object({ id: z.uuid(), updateId: z.uuid() });

export const dashboardIncidentRoutes = defineRoutes('Dashboard incidents', 'account', {
  createDashboardIncident: {
    method: 'POST',
    path: '/v1/incidents',
    otherErrors: [404],
    summary: 'Create an incident of a dashboard, with its first update',
    body: DashboardIncidentInput,
    response: DashboardIncident,
  },
  getDashboardIncident: {
    method: 'GET',
    path: '/v1/incidents/{id}',
    summary: 'One incident of a dashboard',
    params,
    response: DashboardIncident,
  },
  updateDashboardIncident: {
    method: 'PUT',
    path: '/v1/incidents/{id}',
    summary: 'Change an incident of a dashboard; absent fields keep their value',
    params,
    body: DashboardIncidentPatch,
    response: DashboardIncident,
  },
  deleteDashboardIncident: {
    method: 'DELETE',
    path: '/v1/incidents/{id}',
    summary: 'Delete an incident of a dashboard and its updates',
    params,
  },
  createDashboardIncidentUpdate: {
    method: 'POST',
    path: '/v1/incidents/{id}/updates',
    summary: 'Post an update of an incident; RESOLVED ends it',
    params,
    body: UpdateInput,
    response: DashboardIncidentUpdate,
  },
  updateDashboardIncidentUpdate: {
    method: 'PUT',
    path: '/v1/incidents/{id}/updates/{updateId}',
    summary: 'Correct an update of an incident',
    params: updateParams,
    body: UpdatePatch,
    response: DashboardIncidentUpdate,
  },
  deleteDashboardIncidentUpdate: {
    method: 'DELETE',
    path: '/v1/incidents/{id}/updates/{updateId}',
    summary: 'Retract an update of an incident',
    params: updateParams,
  },
});
