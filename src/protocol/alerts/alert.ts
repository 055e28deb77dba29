import { channelTypes } from '@picket/channels/index.ts';
import { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import { checkTypeNames } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { NumericId, Paging, QueryBoolean, Timestamp } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';
import { CauseOfAlert } from './alert-cause.ts';

const DateTime = lazySchema(() => z.iso.datetime());

/** Why an alert is not sent to any channel. */
const suppressionNames = ['muted', 'maintenance', 'silenced', 'acknowledged', 'same-cause'] as const;

const CheckAlert = lazySchema(() =>
  z
    .object({
      id: z.string(),
      name: z.string().describe('Name of the check at the time of the alert'),
      checkId: z.string(),
      alertType: z.string().describe('Such as ALERT_FAILURE, ALERT_RECOVERY, ALERT_SSL'),
      checkType: z.enum(checkTypeNames),
      runLocation: z.string().nullable(),
      responseTime: z.number().nullable(),
      error: z.string().nullable(),
      statusCode: z.string().nullable(),
      checkResultId: z.string().nullable(),
      isReminder: z.boolean(),
      suppressedBy: z
        .enum(suppressionNames)
        .nullable()
        .describe('Why no notification was sent; null if the subscribed channels were notified'),
      silenceId: z.string().nullable().describe('The silence that suppressed it'),
      created_at: DateTime.schema,
      startedAt: DateTime.schema.nullable().describe('When the run that caused it started'),
      cause: CauseOfAlert.schema
        .nullable()
        .describe('Cause of the failure; null if it is not known or does not apply'),
    })
    .meta({ id: 'CheckAlert' }),
);

const AlertNotification = lazySchema(() =>
  z
    .object({
      id: z.string(),
      status: z
        .enum(['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED', 'QUIET'])
        .describe('QUIET: suppressed by the quiet hours of the channel'),
      notificationResult: z.string().nullable().describe('Outcome of the last attempt'),
      tries: z.int(),
      alertChannelId: z.int(),
      alertConfig: z
        .object({ type: z.enum(channelTypes), config: z.record(z.string(), z.unknown()) })
        .describe('The channel at the time of the alert, without its secrets'),
      checkAlertId: z.string(),
      checkResultId: z.string().nullable(),
      checkId: z
        .string()
        .describe('Id of the check, or of the private location or the test that the alert is about'),
      checkName: z.string(),
      checkType: z.enum(checkTypeNames).nullable().describe('null if the alert is not about a check'),
      alertType: z.string(),
      type: z.enum(channelTypes).describe('Type of the channel'),
      created_at: DateTime.schema,
      timestamp: DateTime.schema.describe('The same as created_at'),
      endedAt: DateTime.schema.nullable(),
    })
    .meta({ id: 'AlertNotification' }),
);
const window = (length: string) => ({
  from: Timestamp.optional().describe(`Default: ${length} before "to"`),
  to: Timestamp.optional().describe(
    `At most ${length} after "from"; default: ${length} after "from", or now`,
  ),
});
const alertQuery = z.object({
  ...Paging,
  ...window('6 hours'),
  includeSuppressed: QueryBoolean.default(false).describe(
    'Whether to include suppressed alerts: of checks that were muted, in maintenance, silenced or acknowledged',
  ),
});

export const alertRoutes = defineRoutes('Alerts', 'account', {
  listCheckAlerts: {
    method: 'GET',
    path: '/v1/check-alerts',
    summary: 'Alerts of all checks, newest first',
    query: alertQuery,
    response: lazySchema(() => z.array(CheckAlert.schema)),
  },
  listAlertsOfCheck: {
    method: 'GET',
    path: '/v1/check-alerts/{checkId}',
    summary: 'Alerts of one check, newest first',
    params: z.object({ checkId: z.uuid() }),
    query: alertQuery,
    response: lazySchema(() => z.array(CheckAlert.schema)),
  },
  listAlertNotifications: {
    method: 'GET',
    path: '/v1/alert-notifications',
    summary: 'Notifications sent to channels, and whether they arrived; newest first',
    rateLimit: { requests: 5, windowSeconds: 10 },
    query: lazySchema(() =>
      z.object({
        ...Paging,
        ...window('24 hours'),
        alertChannelId: NumericId.optional(),
        hasFailures: QueryBoolean.optional().describe(
          'true: only notifications of failures; false: only others',
        ),
      }),
    ),
    response: lazySchema(() => z.array(AlertNotification.schema)),
  },
  getAccountAlertSettings: {
    method: 'GET',
    path: '/v1/accounts/me/alert-settings',
    summary: 'Alert settings of checks that use the global ones',
    response: AlertSettings,
  },
  updateAccountAlertSettings: {
    method: 'PUT',
    path: '/v1/accounts/me/alert-settings',
    summary: 'Replace the alert settings of checks that use the global ones',
    ignoredFields: ['sslCertificates'],
    body: AlertSettings,
    response: AlertSettings,
  },
});
