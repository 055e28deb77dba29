import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { NumericId, Paging, Timestamp } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';
import { Acknowledgement } from './alert-handling.ts';

const DateTime = lazySchema(() => z.iso.datetime());

export const entryStates = ['OPEN', 'ACKNOWLEDGED', 'SILENCED', 'ENDED'] as const;
export type EntryState = (typeof entryStates)[number];

export const entryKinds = ['CAUSE', 'CHECK', 'GAP', 'LOCATION', 'ERROR_BUDGET'] as const;

const Member = lazySchema(() =>
  z.object({
    checkId: z.string(),
    name: z.string(),
    location: z.string().nullable().describe('Of a gap: where the check is not measured'),
    since: DateTime.schema.describe('When it began to fail, or was first not measured'),
    joinedAt: DateTime.schema
      .nullable()
      .describe('When it was found to have the cause; null without a shared cause'),
    recoveredAt: DateTime.schema.nullable(),
    checkResultId: z.string().nullable().describe('Result of its last run that did not pass'),
  }),
);

export const AlertEntry = lazySchema(() =>
  z
    .object({
      id: z.string(),
      kind: z
        .enum(entryKinds)
        .describe(
          'CAUSE: several checks that fail for one cause; CHECK: one check; GAP: checks that are not measured at a location, for one reason; LOCATION: a private location without agents, with outdated ones, or an unhealthy one; ERROR_BUDGET: an ended burn',
        ),
      severity: z.enum([
        'FAILING',
        'DEGRADED',
        'FLAPPING',
        'NOT_MEASURED',
        'NO_AGENT',
        'UNHEALTHY',
        'OUTDATED',
      ]),
      state: z.enum(entryStates),
      name: z.string().describe('Name of the check, or what the checks have in common, or the location'),
      reason: z.string().nullable().describe('In one sentence'),
      whatFailed: z.string().nullable().describe('The failed part'),
      since: DateTime.schema,
      endedAt: DateTime.schema.nullable(),
      locations: z.array(z.string()).describe('Where it fails or is not measured'),
      memberCount: z.int(),
      members: z
        .array(Member.schema)
        .describe('Its checks, in the order in which they joined; the first 200'),
      acknowledgement: Acknowledgement.schema.nullable(),
      silencedUntil: DateTime.schema.nullable(),
      suppressedBy: z.enum(['muted', 'maintenance']).nullable(),
      notified: z.string().describe('Notified channels in one sentence, or the reason for no notification'),
    })
    .meta({ id: 'AlertEntry' }),
);
export type AlertEntry = z.output<typeof AlertEntry.schema>;

export const EntryNotification = lazySchema(() =>
  z
    .object({
      id: z.string(),
      alertChannelId: z.int(),
      type: z.string().describe('Type of the channel'),
      channelName: z.string().describe('Channel at the time of the notification'),
      alertType: z.string(),
      checkName: z.string(),
      created_at: DateTime.schema,
      endedAt: DateTime.schema.nullable().describe('When the receiver answered for the last time'),
      status: z.enum(['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED', 'QUIET']),
      answer: z.string().nullable().describe('Answer of the receiver to the last attempt'),
      tries: z.int(),
    })
    .meta({ id: 'AlertEntryNotification' }),
);
export type EntryNotification = z.output<typeof EntryNotification.schema>;

export const alertEntryRoutes = defineRoutes('Alerts', 'account', {
  listAlertEntries: {
    method: 'GET',
    path: '/v1/alert-entries',
    summary:
      'Open alerts, one entry for each cause: failing and degraded checks, monitoring gaps and locations without agents; or ended ones',
    query: lazySchema(() =>
      z.object({
        ...Paging,
        state: z.enum(entryStates).optional().describe('Default: all that are not ended'),
        search: z
          .string()
          .max(200)
          .optional()
          .describe('Part of the name of the entry or of one of its checks'),
        checkId: z.uuid().optional(),
        groupId: NumericId.optional(),
        tag: z.string().max(255).optional(),
        location: z.string().max(64).optional(),
        alertChannelId: NumericId.optional().describe('Entries that this channel was notified of'),
        from: Timestamp.optional().describe('Ended since then; default: 7 days ago, at most 92 days'),
        to: Timestamp.optional().describe('Ended before then; default: now'),
      }),
    ),
    response: lazySchema(() => z.array(AlertEntry.schema)),
  },
  listLatestNotifications: {
    method: 'GET',
    path: '/v1/alert-notifications/latest',
    summary: 'The latest notification of each alert channel, with the answer of its receiver',
    query: z.object(Paging),
    response: lazySchema(() => z.array(EntryNotification.schema)),
  },
  getAlertEntry: {
    method: 'GET',
    path: '/v1/alert-entries/{id}',
    summary: 'One entry, and each notification about it: channel, time, and the answer of the receiver',
    params: lazySchema(() =>
      z.object({ id: z.string().regex(/^[\w.-]{1,200}$/, 'must be the id of an entry') }),
    ),
    response: lazySchema(() =>
      AlertEntry.schema
        .extend({
          notifications: z.array(EntryNotification.schema).describe('Newest first; the first 200'),
        })
        .meta({ id: 'AlertEntryDetails' }),
    ),
  },
});
