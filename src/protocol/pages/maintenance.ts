import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { NumericId, Paging, Timestamp } from '../http/query.ts';
import { created, defineRoutes } from '../http/route.ts';
import { MaintenanceInstant } from './maintenance-window.ts';

export const MaintenanceStatus = lazySchema(() =>
  z
    .enum(['SCHEDULED', 'IN_PROGRESS', 'VERIFYING', 'COMPLETED', 'CANCELLED'])
    .describe(
      'VERIFYING: the work is done and under observation; CANCELLED: it will not take place, or was aborted',
    ),
);
export type MaintenanceStatus = z.output<typeof MaintenanceStatus.schema>;

/** New dates of one occurrence. */
const MaintenanceDates = lazySchema(() =>
  z
    .object({ startsAt: MaintenanceInstant.optional(), endsAt: MaintenanceInstant.optional() })
    .refine(({ startsAt, endsAt }) => startsAt !== undefined || endsAt !== undefined, {
      path: ['startsAt'],
      message: 'or endsAt is required',
    }),
);

/** An update about an occurrence, in requests. */
export const MaintenanceUpdateInput = lazySchema(() =>
  z
    .object({
      description: z.string().min(1).max(5000),
      status: MaintenanceStatus.schema.optional().describe('New status; absent: unchanged'),
      notifySubscribers: z
        .boolean()
        .default(false)
        .describe('Mail the subscribers of the pages that show it'),
      dateAdjustments: MaintenanceDates.schema
        .optional()
        .describe('New start and end, if the update moves the maintenance'),
    })
    .meta({ id: 'MaintenanceUpdateInput' }),
);

export const MaintenanceUpdate = lazySchema(() =>
  z
    .object({
      id: z.uuid(),
      maintenanceWindowId: z.int(),
      maintenanceId: z.int(),
      status: MaintenanceStatus.schema.describe('Status at the time of the update'),
      description: z.string(),
      notifySubscribers: z.boolean(),
      created_at: z.iso.datetime(),
      previousStatus: MaintenanceStatus.schema,
      previousStartsAt: z.iso.datetime(),
      previousEndsAt: z.iso.datetime(),
      dateAdjustments: z
        .object({ startsAt: z.iso.datetime().optional(), endsAt: z.iso.datetime().optional() })
        .nullable()
        .describe('New start and end set by the update; null if unchanged'),
    })
    .meta({ id: 'MaintenanceUpdate' }),
);

/** One occurrence of a window. */
export const Maintenance = lazySchema(() =>
  z
    .object({
      id: z.int().describe('Number of the occurrence in the window, from 1'),
      maintenanceWindowId: z.int(),
      name: z.string(),
      startsAt: z.iso.datetime(),
      endsAt: z.iso.datetime(),
      status: MaintenanceStatus.schema,
      updates: z.array(MaintenanceUpdate.schema).describe('Newest first'),
    })
    .meta({ id: 'Maintenance' }),
);
const windowParams = z.object({ id: NumericId });
const params = z.object({ id: NumericId, maintenanceId: NumericId });
const updateParams = params.extend({ updateId: z.uuid() });
const path = '/v1/maintenance-windows/{id}/maintenances/{maintenanceId}';

/** Single occurrences of maintenance windows (check model 2.7). */
export const maintenanceRoutes = defineRoutes('Maintenance windows', 'account', {
  listMaintenances: {
    method: 'GET',
    path: '/v1/maintenance-windows/{id}/maintenances',
    summary: 'Current and future occurrences of a window, soonest first',
    params: windowParams,
    query: lazySchema(() =>
      z.object({
        limit: z.coerce.number().int().min(1).max(50).default(10).describe('Items per page'),
        page: Paging.page,
        from: Timestamp.optional().describe('Only occurrences that end after this time; default: now'),
      }),
    ),
    response: lazySchema(() => z.array(Maintenance.schema)),
  },
  getMaintenance: {
    method: 'GET',
    path,
    summary: 'One occurrence of a window',
    params,
    response: Maintenance,
  },
  updateMaintenance: {
    method: 'PATCH',
    path,
    otherErrors: [409],
    summary: 'Move one occurrence of a window; others keep their dates',
    params,
    body: lazySchema(() => MaintenanceDates.schema.meta({ id: 'MaintenanceDates' })),
    response: Maintenance,
  },
  deleteMaintenance: {
    method: 'DELETE',
    path,
    otherErrors: [409],
    summary: 'Skip one occurrence of a window; others are unchanged',
    params,
  },
  createMaintenanceUpdate: {
    method: 'POST',
    path: `${path}/updates`,
    otherErrors: [409],
    summary: 'Post an update of an occurrence of a window',
    params,
    body: MaintenanceUpdateInput,
    success: created,
    response: MaintenanceUpdate,
  },
  updateMaintenanceUpdate: {
    method: 'PUT',
    path: `${path}/updates/{updateId}`,
    summary: 'Correct the text of an update',
    params: updateParams,
    body: lazySchema(() =>
      MaintenanceUpdateInput.schema.pick({ description: true }).meta({ id: 'MaintenanceUpdateText' }),
    ),
    response: MaintenanceUpdate,
  },
  deleteMaintenanceUpdate: {
    method: 'DELETE',
    path: `${path}/updates/{updateId}`,
    summary: 'Delete an update and the status that it set; its date changes stay',
    params: updateParams,
  },
});
