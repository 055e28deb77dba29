import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { OffsetDateTime } from '../http/query.ts';
import { created, defineRoutes } from '../http/route.ts';
import { patchOf } from './page-fields.ts';
import { Service } from './status-page.ts';
import { ComponentImpact } from './status-page-component.ts';

export const incidentSeverities = ['CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR'] as const;
export const incidentStatuses = ['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED'] as const;

const updateFields = {
  description: z.string().min(1).max(10_000),
  status: z.enum(incidentStatuses),
  publicIncidentUpdateDate: OffsetDateTime.describe(
    'Date of the update on the page; default: now',
  ).optional(),
  notifySubscribers: z
    .boolean()
    .describe('Whether to mail the subscribers; only for a new update')
    .default(false),
};
export const IncidentUpdateInput = lazySchema(() =>
  z.object(updateFields).meta({ id: 'IncidentUpdateInput' }),
);
export type IncidentUpdateInput = z.output<typeof IncidentUpdateInput.schema>;
export const IncidentUpdatePatch = lazySchema(() =>
  z
    .object({
      description: updateFields.description.optional(),
      status: updateFields.status.optional(),
      publicIncidentUpdateDate: updateFields.publicIncidentUpdateDate,
    })
    .meta({ id: 'IncidentUpdatePatch' }),
);

const fields = {
  name: z.string().min(1).max(255),
  severity: z.enum(incidentSeverities),
  services: z
    .array(z.object({ id: z.uuid() }))
    .max(100)
    .describe('Affected services, for pages of cards')
    .default([]),
  components: z
    .array(z.object({ componentId: z.uuid(), impact: ComponentImpact.schema }))
    .max(100)
    .describe('Affected components, for pages of components, with their states while the incident is open')
    .default([]),
};
export const IncidentInput = lazySchema(() =>
  z
    .object({ ...fields, incidentUpdates: z.array(IncidentUpdateInput.schema).length(1) })
    .superRefine(({ services, components }, context) => {
      if (services.length + components.length > 0) return;
      const message = 'or "components" must say what the incident is about';
      context.addIssue({ code: 'custom', path: ['services'], message });
    })
    .meta({ id: 'IncidentInput' }),
);
export const IncidentPatch = patchOf(fields).meta({ id: 'IncidentPatch' });

export const IncidentUpdate = lazySchema(() =>
  z
    .object({
      id: z.string(),
      description: z.string(),
      status: z.enum(incidentStatuses),
      publicIncidentUpdateDate: z.iso.datetime(),
      notifySubscribers: z.boolean(),
      created_at: z.iso.datetime(),
    })
    .meta({ id: 'IncidentUpdate' }),
);
export type IncidentUpdate = z.output<typeof IncidentUpdate.schema>;

const IncidentComponent = lazySchema(() =>
  z
    .object({
      id: z.string(),
      name: z.string(),
      statusPageId: z.string(),
      impact: ComponentImpact.schema,
    })
    .meta({ id: 'IncidentComponent' }),
);

/** An incident of services (check model 4.7), or of components of status pages. */
export const Incident = lazySchema(() =>
  z
    .object({
      id: z.string(),
      name: z.string(),
      severity: z.enum(incidentSeverities),
      services: z.array(Service.schema),
      components: z.array(IncidentComponent.schema),
      automationRuleId: z
        .string()
        .nullable()
        .describe('The rule that opened it; null if it was not opened by a rule'),
      incidentUpdates: z.array(IncidentUpdate.schema).describe('The newest 100, newest first'),
      lastUpdateStatus: z.enum(incidentStatuses),
      duration: z
        .int()
        .nullable()
        .describe('Seconds from the first update to the one that resolved it; null while it is open'),
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
    })
    .meta({ id: 'Incident' }),
);
export type Incident = z.output<typeof Incident.schema>;
const base = '/v1/status-pages/incidents';
const params = z.object({ incidentId: z.uuid() });
const updateParams = z.object({ incidentId: z.uuid(), incidentUpdateId: z.uuid() });

export const incidentRoutes = defineRoutes('Incidents', 'account', {
  listIncidents: {
    method: 'GET',
    path: base,
    summary: 'Incidents of the account, newest first',
    query: lazySchema(() => z.object(CursorPaging)),
    response: lazySchema(() => cursorPage(Incident.schema)),
  },
  createIncident: {
    method: 'POST',
    path: base,
    otherErrors: [404],
    summary: 'Create an incident, with its first update',
    body: IncidentInput,
    success: created,
    response: Incident,
  },
  getIncident: {
    method: 'GET',
    path: `${base}/{incidentId}`,
    summary: 'One incident',
    params,
    response: Incident,
  },
  updateIncident: {
    method: 'PUT',
    path: `${base}/{incidentId}`,
    summary:
      'Change an incident; absent fields keep their value, services and components are replaced as a whole',
    params,
    body: IncidentPatch,
    response: Incident,
  },
  patchIncident: {
    method: 'PATCH',
    path: `${base}/{incidentId}`,
    summary: 'The same as PUT, for existing clients',
    params,
    body: IncidentPatch,
    response: Incident,
  },
  deleteIncident: {
    method: 'DELETE',
    path: `${base}/{incidentId}`,
    summary: 'Delete an incident and its updates; its duration counts as uptime again',
    params,
  },
  listIncidentUpdates: {
    method: 'GET',
    path: `${base}/{incidentId}/incident-updates`,
    summary: 'The newest 100 updates of an incident, newest first',
    params,
    response: lazySchema(() => z.array(IncidentUpdate.schema)),
  },
  createIncidentUpdate: {
    method: 'POST',
    path: `${base}/{incidentId}/incident-updates`,
    summary: 'Post an update; RESOLVED ends the incident, any other status reopens it',
    params,
    body: IncidentUpdateInput,
    response: IncidentUpdate,
  },
  getIncidentUpdate: {
    method: 'GET',
    path: `${base}/{incidentId}/incident-updates/{incidentUpdateId}`,
    summary: 'One update of an incident',
    params: updateParams,
    response: IncidentUpdate,
  },
  updateIncidentUpdate: {
    method: 'PUT',
    path: `${base}/{incidentId}/incident-updates/{incidentUpdateId}`,
    summary: 'Correct an update of an incident; no mails are sent',
    params: updateParams,
    body: IncidentUpdatePatch,
    response: IncidentUpdate,
  },
  deleteIncidentUpdate: {
    method: 'DELETE',
    path: `${base}/{incidentId}/incident-updates/{incidentUpdateId}`,
    summary: 'Retract an update of an incident, except the last one',
    params: updateParams,
  },
});
