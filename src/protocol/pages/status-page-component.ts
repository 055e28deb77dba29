import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { ManagedFields } from '../http/managed-fields.ts';
import { created, defineRoutes } from '../http/route.ts';

export const componentTypes = ['SERVICE', 'GROUP'] as const;

/** Impact of an incident on a component, from the mildest. */
export const componentImpacts = [
  'UNDER_MAINTENANCE',
  'DEGRADED_PERFORMANCE',
  'PARTIAL_OUTAGE',
  'MAJOR_OUTAGE',
] as const;
export const ComponentImpact = lazySchema(() => z.enum(componentImpacts));
export type ComponentImpact = z.output<typeof ComponentImpact.schema>;

const parentId = z
  .uuid()
  .nullable()
  .describe('The GROUP that contains it, on the same page; null: top level');
const configuration = {
  showHistoricalData: z.boolean().describe('Whether the page shows its daily history and uptime'),
  expandedByDefault: z.boolean().describe('For a GROUP: whether the page shows it expanded'),
};
const fields = {
  name: z.string().min(1).max(255),
  description: z.string().max(500).nullable().default(null),
  hidden: z
    .boolean()
    .default(false)
    .describe('Whether the page hides it and its components; incidents and rules may still refer to it'),
  displayOrder: z
    .int()
    .min(-1_000_000)
    .max(1_000_000)
    .default(0)
    .describe('Sort position among its siblings; lower comes first'),
};

export const StatusPageComponentInput = lazySchema(() =>
  z
    .object({
      statusPageId: z.uuid().describe('A page created with `version: 3`; cannot be changed later'),
      parentId: parentId.default(null),
      type: z
        .enum(componentTypes)
        .default('SERVICE')
        .describe('SERVICE: has a state of its own; GROUP: contains other components'),
      ...fields,
      configuration: z
        .object({
          showHistoricalData: configuration.showHistoricalData.default(true),
          expandedByDefault: configuration.expandedByDefault.default(false),
        })
        .prefault({}),
    })
    .meta({ id: 'StatusPageComponentInput' }),
);
export type StatusPageComponentInput = z.output<typeof StatusPageComponentInput.schema>;

export const StatusPageComponentPatch = lazySchema(() =>
  z
    .object({
      statusPageId: z.uuid().optional().describe('Immutable: omit it or repeat the current value'),
      parentId: parentId.optional(),
      type: z.enum(componentTypes).optional().describe('Immutable: omit it or repeat the current value'),
      name: fields.name.optional(),
      description: fields.description.unwrap().optional(),
      hidden: fields.hidden.unwrap().optional(),
      displayOrder: fields.displayOrder.unwrap().optional(),
      configuration: z.object(configuration).partial().optional(),
    })
    .meta({ id: 'StatusPageComponentPatch' }),
);

/** A part of a status page without cards. */
export const StatusPageComponent = lazySchema(() =>
  z
    .object({
      id: z.string(),
      ...ManagedFields,
      statusPageId: z.string(),
      parentId: z.string().nullable(),
      type: z.enum(componentTypes),
      name: z.string(),
      description: z.string().nullable(),
      hidden: z.boolean(),
      displayOrder: z.int(),
      configuration: z
        .object({
          showHistoricalData: z.boolean(),
          expandedByDefault: z.boolean().optional().describe('For a GROUP'),
        })
        .meta({ id: 'StatusPageComponentConfiguration' }),
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
    })
    .meta({ id: 'StatusPageComponent' }),
);
export type StatusPageComponent = z.output<typeof StatusPageComponent.schema>;
const base = '/v1/status-pages/components';
const params = z.object({ componentId: z.uuid() });

export const statusPageComponentRoutes = defineRoutes('Status pages', 'account', {
  listStatusPageComponents: {
    method: 'GET',
    path: base,
    summary: 'Components of status pages, newest first',
    query: lazySchema(() =>
      z.object({
        ...CursorPaging,
        statusPageId: z.uuid().optional().describe('Only components of this page'),
      }),
    ),
    response: lazySchema(() => cursorPage(StatusPageComponent.schema)),
  },
  createStatusPageComponent: {
    method: 'POST',
    path: base,
    otherErrors: [404],
    summary: 'Create a component on a status page of version 3',
    body: StatusPageComponentInput,
    success: created,
    response: StatusPageComponent,
  },
  getStatusPageComponent: {
    method: 'GET',
    path: `${base}/{componentId}`,
    summary: 'One component of a status page',
    params,
    response: StatusPageComponent,
  },
  updateStatusPageComponent: {
    method: 'PUT',
    path: `${base}/{componentId}`,
    summary: 'Change a component, except its page and type; absent fields keep their value',
    params,
    body: StatusPageComponentPatch,
    response: StatusPageComponent,
  },
  deleteStatusPageComponent: {
    method: 'DELETE',
    path: `${base}/{componentId}`,
    summary:
      'Delete a component; the components of a deleted group move to its place, and references in incidents and rules are removed',
    params,
  },
});
