import { ActiveHours, activeHoursProblems } from '@picket/checks/contract/definition/active-hours.ts';
import {
  AlertSettings,
  CommonFields,
  maskedInCommon,
  RetryStrategy,
} from '@picket/checks/contract/definition/common-fields.ts';
import type { MaskedValue } from '@picket/checks/contract/masking.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { NumericId, Paging, QueryBoolean } from '../http/query.ts';
import { alsoIn, created, defineRoutes } from '../http/route.ts';
import { Warning } from '../http/warning.ts';
import {
  AnyCheck,
  DocumentedCheck,
  ignoredInAlertSettings,
  ignoredInAssertions,
  unchangedSince,
} from './check.ts';

/** Type-specific settings that groups can set for their checks, by field. */
const typeDefaults = checkTypes.flatMap(({ groupDefaults }) => groupDefaults ?? []);

/**
 * Body of a request that writes a group of checks: settings for all its checks (check model 2.6). null, an empty list
 * or an absent field means that the check's own value applies.
 */
const GroupFields = lazySchema(() => {
  const common = CommonFields.shape;
  return z.object({
    name: z.string().min(1).max(255).describe('Name of the group'),
    activated: z.boolean().default(true).describe('If false, none of its checks run'),
    muted: z.boolean().default(false).describe('If true, no notifications are sent for any of its checks'),
    tags: common.tags.describe('Added to the tags of its checks'),
    locations: common.locations.describe(
      'Together with privateLocations: locations of its checks, unless both lists are empty',
    ),
    privateLocations: common.privateLocations,
    concurrency: z
      .int()
      .min(1)
      .max(1000)
      .default(3)
      .describe('Number of checks that run in parallel when the group is triggered'),
    runParallel: z.boolean().nullable().default(null),
    activeHours: ActiveHours.schema
      .nullable()
      .default(null)
      .describe('Hours in which its checks run; null: the hours of each check'),
    runtimeId: common.runtimeId.describe('Default for checks that set none'),
    environmentVariables: common.environmentVariables.describe(
      'Merged with those of the check, which take precedence, and of the account, which do not',
    ),
    browserCheckDefaults: z.string().nullable().default(null).describe('Stored, without effect'),
    useGlobalAlertSettings: z.boolean().nullable().default(null),
    alertSettings: AlertSettings.schema.nullable().default(null),
    alertChannelSubscriptions: common.alertChannelSubscriptions.describe(
      'Applies to all checks of the group, if set',
    ),
    setupSnippetId: common.setupSnippetId.describe('Runs before the setup script of the check'),
    tearDownSnippetId: common.tearDownSnippetId.describe('Runs after the teardown script of the check'),
    localSetupScript: common.localSetupScript,
    localTearDownScript: common.localTearDownScript,
    doubleCheck: z
      .boolean()
      .nullable()
      .default(null)
      .meta({ deprecated: true, description: 'Deprecated: use retryStrategy' }),
    retryStrategy: z
      .union([RetryStrategy.schema, z.literal('FALLBACK')])
      .nullable()
      .default('FALLBACK')
      .describe('"FALLBACK" and null: the settings of each check'),
  });
});

const AllGroupFields = lazySchema(() => {
  const ofTypes = Object.fromEntries(typeDefaults.map(({ field, schema }) => [field, schema.prefault({})]));
  return GroupFields.schema.extend(ofTypes as Readonly<Record<never, never>>);
});

export const CheckGroupInput = lazySchema(() =>
  AllGroupFields.schema
    .superRefine((group, context) => {
      if (context.issues.length === 0) {
        for (const { path, message } of activeHoursProblems(group.activeHours, ['activeHours'])) {
          context.addIssue({ code: 'custom', path: [...path], message });
        }
      }
      for (const { groupDefaults } of checkTypes) {
        if (!groupDefaults?.problems) continue;
        const { field } = groupDefaults;
        const defaults = (group as unknown as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[
          field
        ];
        for (const { path, message } of defaults ? groupDefaults.problems(defaults) : []) {
          context.addIssue({ code: 'custom', path: [field, ...path], message });
        }
      }
    })
    .meta({
      id: 'CheckGroupInput',
      description: 'A group of checks, in requests',
    }),
);

/** A stored group: the common settings, and those of the check types. */
export type GroupDefinition = z.output<typeof GroupFields.schema> & Record<string, unknown>;

export const CheckGroup = lazySchema(() =>
  AllGroupFields.schema
    .extend({
      id: z.int(),
      warnings: z
        .array(Warning)
        .describe('Settings without effect, and secrets that are not masked; empty if there are no problems'),
      ...ManagedFields,
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
    })
    .meta({ id: 'CheckGroup', description: 'A group of checks. Masked values are shown as ""' }),
);

/** Values of a group that API responses never show. */
export const maskedInGroups: readonly MaskedValue[] = [
  ...maskedInCommon,
  ...checkTypes.flatMap(({ groupDefaults }) => groupDefaults?.masked ?? []),
];

/** Fields of a group that are merged, so that a partial body can change a single setting. */
export const mergedInGroups: readonly string[] = ['alertSettings', ...typeDefaults.map(({ field }) => field)];
const ignoredFields = [
  'createdAt',
  'updatedAt',
  ...ignoredInAlertSettings,
  ...ignoredInAssertions.map((name) => `apiCheckDefaults.assertions.*.${name}`),
];
const params = z.object({ id: NumericId });
const autoAssign = z.object({
  autoAssignAlerts: QueryBoolean.default(true).describe(
    'Whether a new group is subscribed to all existing alert channels',
  ),
});

const routes = defineRoutes('Check groups', 'account', {
  listCheckGroups: {
    method: 'GET',
    path: '/v1/check-groups',
    summary: 'Groups of the account, newest first',
    query: lazySchema(() =>
      z.object({
        ...Paging,
        tag: z
          .union([z.string().min(1), z.array(z.string().min(1))])
          .optional()
          .describe('Groups with any of these tags'),
        name: z.string().max(255).optional().describe('Part of the name, case-insensitive'),
      }),
    ),
    response: lazySchema(() => z.array(CheckGroup.schema)),
  },
  createCheckGroup: {
    method: 'POST',
    path: '/v1/check-groups',
    ignoredFields,
    summary: 'Create a group',
    query: autoAssign,
    body: CheckGroupInput,
    success: created,
    response: CheckGroup,
  },
  getCheckGroup: {
    method: 'GET',
    path: '/v1/check-groups/{id}',
    summary: 'One group',
    params,
    response: CheckGroup,
  },
  updateCheckGroup: {
    method: 'PUT',
    path: '/v1/check-groups/{id}',
    ignoredFields,
    otherErrors: [409],
    summary: 'Change a group; absent fields keep their value',
    params,
    query: autoAssign.extend({ unchangedSince }),
    // Loose, because the definition after merging is validated.
    body: z.looseObject({}),
    documentedBody: lazySchema(() =>
      AllGroupFields.schema.partial().meta({
        id: 'CheckGroupPatch',
        description: 'Any fields of CheckGroupInput; absent ones keep their value, fields of objects too',
      }),
    ),
    response: CheckGroup,
  },
  deleteCheckGroup: {
    method: 'DELETE',
    path: '/v1/check-groups/{id}',
    otherErrors: [409],
    summary: 'Delete a group without checks',
    params,
  },
  listChecksOfGroup: {
    method: 'GET',
    path: '/v1/check-groups/{id}/checks',
    summary: 'Checks of a group with its settings applied, by groupOrder',
    params,
    query: z.object(Paging),
    response: lazySchema(() => z.array(AnyCheck.schema)),
    documentedResponse: lazySchema(() => z.array(DocumentedCheck.schema)),
  },
  getCheckOfGroup: {
    method: 'GET',
    path: '/v1/check-groups/{groupId}/checks/{checkId}',
    summary: 'One check of a group with its settings applied',
    params: lazySchema(() => z.object({ groupId: NumericId, checkId: z.uuid() })),
    response: AnyCheck,
    documentedResponse: DocumentedCheck,
  },
});

export const checkGroupRoutes = alsoIn(['v2'], routes);
