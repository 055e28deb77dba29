import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { NumericId, OffsetDateTime, Timestamp } from '../http/query.ts';
import { defineResourceApi } from '../http/resource.ts';
import { TimeZone } from '../http/time-zone.ts';

export const repeatUnits = ['DAY', 'WEEK', 'MONTH'] as const;

export const MaintenanceInstant = OffsetDateTime;
const tags = z.array(z.string().min(1)).max(100).default([]);

const StatusPageVisibility = lazySchema(() =>
  z
    .object({
      enabled: z.boolean().default(false),
      severity: z.enum(['CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR']).default('MINOR'),
      affectAllServices: z.boolean().describe('All services and components of the pages').default(false),
      notifyOnStart: z.boolean().default(false),
      notifyOnEnd: z.boolean().default(false),
      suppressAutoIncidents: z.boolean().default(false),
      reminderMinutesBefore: z.array(z.int().min(60).max(10_080)).max(3).default([]),
      autoStart: z.boolean().default(true),
      autoEnd: z.boolean().default(true),
      statusPageIds: z.array(z.uuid()).max(100).default([]),
      serviceIds: z.array(z.uuid()).max(100).default([]),
      componentIds: z
        .array(z.uuid())
        .max(100)
        .describe('Components of status pages; a group includes its components')
        .default([]),
    })
    .meta({ id: 'StatusPageVisibility' }),
);

/** A maintenance window in requests (check model 2.7). */
const WindowFields = lazySchema(() =>
  z.object({
    name: z.string().min(1).max(200),
    description: z.string().max(2000).nullable().default(null),
    startsAt: MaintenanceInstant,
    endsAt: MaintenanceInstant,
    timezone: TimeZone.default('UTC').describe(
      'Time zone of the occurrences, such as Europe/Berlin: they keep their local time across daylight saving changes',
    ),
    repeatInterval: z
      .int()
      .min(1)
      .max(1000)
      .nullable()
      .default(null)
      .describe('Every N units; null: the window does not repeat'),
    repeatUnit: z
      .enum(repeatUnits)
      .nullable()
      .default(null)
      .describe('Monthly windows repeat on the same day of the month, or on the last day of shorter months'),
    repeatEndsAt: MaintenanceInstant.nullable()
      .default(null)
      .describe('No occurrence starts after this time; null: no end'),
    tags: tags.describe('Checks with any of these tags, their own or their group’s, do not run'),
    pauseAllChecks: z.boolean().default(false).describe('No check of the account runs'),
    silenceAlertsTags: tags.describe('Checks with any of these tags send no alerts'),
    silenceAllAlerts: z.boolean().default(false).describe('No check of the account sends alerts'),
    statusPageVisibility: StatusPageVisibility.schema.nullable().default(null),
  }),
);
export type WindowDefinition = z.output<typeof WindowFields.schema>;

/** Whether a window pauses, silences or shows anything. */
function hasEffect(window: WindowDefinition): boolean {
  const { tags, pauseAllChecks, silenceAlertsTags, silenceAllAlerts, statusPageVisibility } = window;
  const isShown = statusPageVisibility?.enabled === true;
  return tags.length > 0 || pauseAllChecks || silenceAlertsTags.length > 0 || silenceAllAlerts || isShown;
}

export const MaintenanceWindowInput = lazySchema(() =>
  WindowFields.schema
    .superRefine((window, context) => {
      const issue = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: [path], message });
      const startsAt = Date.parse(window.startsAt);
      if (Date.parse(window.endsAt) < startsAt) issue('endsAt', 'must not be before startsAt');
      if (window.repeatInterval !== null && window.repeatUnit === null) {
        issue('repeatUnit', 'is required with repeatInterval');
      }
      if (window.repeatUnit !== null && window.repeatInterval === null) {
        issue('repeatInterval', 'is required with repeatUnit');
      }
      if (!hasEffect(window)) {
        issue(
          'tags',
          'or "pauseAllChecks", "silenceAlertsTags", "silenceAllAlerts" or "statusPageVisibility" must be set: the window has no effect',
        );
      }
      if (window.repeatEndsAt === null) return;
      if (window.repeatUnit === null)
        issue('repeatEndsAt', 'has a meaning only with repeatInterval and repeatUnit');
      else if (Date.parse(window.repeatEndsAt) < startsAt)
        issue('repeatEndsAt', 'must not be before startsAt');
    })
    .meta({ id: 'MaintenanceWindowInput', description: 'A maintenance window, in requests' }),
);

export const MaintenanceWindow = lazySchema(() =>
  WindowFields.schema
    .extend({
      id: z.int(),
      ...ManagedFields,
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
    })
    .meta({ id: 'MaintenanceWindow', description: 'A maintenance window' }),
);

export const maintenanceWindowApi = defineResourceApi({
  noun: 'maintenance window',
  order: 'latest start first',
  key: NumericId,
  shown: MaintenanceWindow,
  input: MaintenanceWindowInput,
  // Loose, because the window after merging is validated.
  patch: z.looseObject({}),
  documentedPatch: lazySchema(() =>
    WindowFields.schema.partial().meta({
      id: 'MaintenanceWindowPatch',
      description: 'Any fields of MaintenanceWindowInput; absent ones keep their value',
    }),
  ),
  mergedFields: ['statusPageVisibility'],
  filter: {
    startsAt: Timestamp.optional().describe('Only windows whose last occurrence ends after this time'),
    endsAt: Timestamp.optional().describe('Only windows whose first occurrence starts before this time'),
  },
});
