import type { Channel } from '@picket/channels/contract/channel.ts';
import { channelKinds, channelTypes } from '@picket/channels/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { NumericId, Paging } from '../http/query.ts';
import { created, defineRoutes } from '../http/route.ts';
import { Warning } from '../http/warning.ts';
import { QuietHours } from './quiet-hours.ts';

/** When a channel is notified, whatever its type. */
export const ChannelFlags = lazySchema(() =>
  z.object({
    sendFailure: z.boolean().default(true),
    sendRecovery: z.boolean().default(true),
    sendDegraded: z.boolean().default(false),
    sendGap: z.boolean().default(true).describe('Whether to notify when a check is not measured'),
    sslExpiry: z.boolean().default(false).describe('Whether to warn about certificates that expire'),
    sslExpiryThreshold: z.int().min(1).max(30).default(30).describe('Days before a certificate expires'),
    groupByCause: z
      .boolean()
      .default(true)
      .describe(
        'Whether checks that fail for the same cause share a notification; false: one for each check',
      ),
    autoSubscribe: z.boolean().default(false).describe('Whether new checks are subscribed automatically'),
    quietHours: QuietHours.schema
      .nullable()
      .default(null)
      .describe('Quiet hours: notifications that still apply when they end are sent then'),
  }),
);

const SubscriptionFields = {
  checkId: z.uuid().nullable().default(null),
  groupId: z.int().nullable().default(null),
  activated: z.boolean().default(true),
};

const InputFields = lazySchema(() =>
  z.object({
    ...ChannelFlags.shape,
    subscriptions: z
      .array(z.object(SubscriptionFields))
      .max(10_000)
      .optional()
      .describe(
        'All subscriptions of the channel, each with exactly one of checkId and groupId; absent: no subscriptions for a new channel, unchanged for an existing one',
      ),
  }),
);

/** One schema for channels of all types. */
function anyChannel<Shape extends z.ZodRawShape>(
  id: string,
  shape: Shape,
  configOf: (kind: Channel) => z.ZodObject,
) {
  const [first, ...others] = channelKinds.map((kind) =>
    z.object({ type: z.literal(kind.type), config: configOf(kind), ...shape }),
  );
  if (!first) throw new Error('there are no types of channels');
  return z
    .discriminatedUnion('type', [first, ...others])
    .meta({ id, discriminator: { propertyName: 'type' } });
}

/** Body of a request that writes a channel. The config depends on the type. */
export const AlertChannelInput = anyChannel('AlertChannelInput', InputFields.shape, ({ config }) => config);
export type AlertChannelInput = z.output<typeof AlertChannelInput>;

const Subscription = lazySchema(() =>
  z.object({ id: z.int(), ...SubscriptionFields }).meta({ id: 'AlertChannelSubscription' }),
);

const ShownFields = lazySchema(() =>
  z.object({
    id: z.int(),
    ...ManagedFields,
    ...ChannelFlags.shape,
    isDelivered: z
      .boolean()
      .describe('False if the service lacks a setting to deliver to it; see `warnings`'),
    subscriptions: z.array(Subscription.schema),
    warnings: z
      .array(Warning)
      .describe('Why the channel cannot send notifications at present; empty if it can'),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime().nullable(),
  }),
);

export const AlertChannel = anyChannel('AlertChannel', ShownFields.shape, ({ shownConfig }) =>
  shownConfig.describe('As stored; secrets and locked values are ""'),
);
export type AlertChannel = z.output<typeof AlertChannel>;

const AlertChannelPatch = lazySchema(() =>
  z.looseObject({ type: z.enum(channelTypes).optional() }).meta({
    id: 'AlertChannelPatch',
    description:
      'Any fields of AlertChannelInput; absent ones keep their value, fields of `config` too unless the type changes. A ' +
      'masked "" keeps the stored value',
  }),
);

const activated = z.boolean().default(true);
const BulkSubscription = lazySchema(() =>
  z
    .union([
      z.strictObject({ all: z.literal(true).describe('Every check of the account'), activated }),
      z.strictObject({
        tags: z.array(z.string().min(1)).min(1).max(100).describe('Checks with any of these tags'),
        activated,
      }),
    ])
    .meta({ id: 'AlertChannelBulkSubscription', description: 'Exactly one of all and tags' }),
);
const params = z.object({ id: NumericId });

export const alertChannelRoutes = defineRoutes('Alert channels', 'account', {
  listAlertChannels: {
    method: 'GET',
    path: '/v1/alert-channels',
    summary: 'Alert channels of the account, newest first',
    query: z.object(Paging),
    response: lazySchema(() => z.array(AlertChannel)),
  },
  createAlertChannel: {
    method: 'POST',
    path: '/v1/alert-channels',
    summary: 'Create an alert channel',
    body: AlertChannelInput,
    success: created,
    response: AlertChannel,
  },
  getAlertChannel: {
    method: 'GET',
    path: '/v1/alert-channels/{id}',
    summary: 'One alert channel',
    params,
    response: AlertChannel,
  },
  updateAlertChannel: {
    method: 'PUT',
    path: '/v1/alert-channels/{id}',
    summary: 'Change an alert channel; absent fields keep their value',
    params,
    body: AlertChannelPatch,
    response: AlertChannel,
  },
  deleteAlertChannel: {
    method: 'DELETE',
    path: '/v1/alert-channels/{id}',
    summary: 'Delete an alert channel and its subscriptions',
    params,
  },
  updateAlertChannelSubscriptions: {
    method: 'PUT',
    path: '/v1/alert-channels/{id}/subscriptions',
    summary: 'Subscribe a check or a group to a channel, or activate or deactivate its subscription',
    params,
    body: lazySchema(() =>
      z.object(SubscriptionFields).meta({
        id: 'AlertChannelSubscriptionInput',
        description: 'Exactly one of checkId and groupId',
      }),
    ),
    response: Subscription,
  },
  bulkSubscribeAlertChannel: {
    method: 'POST',
    path: '/v1/alert-channels/{id}/subscriptions/bulk',
    summary:
      'Subscribe all checks, or those with certain tags, to a channel; also groups with channels of their own',
    params,
    body: BulkSubscription,
    response: lazySchema(() =>
      z
        .object({
          checks: z.int().describe('Checks whose subscription changed'),
          groups: z.int().describe('Groups whose channels override those of their checks'),
          warnings: z.array(Warning),
        })
        .meta({ id: 'AlertChannelBulkSubscribed' }),
    ),
  },
  testAlertChannel: {
    method: 'POST',
    path: '/v1/alert-channels/{id}/test',
    summary: 'Send a test notification to a channel and return the outcome; waits up to 25 seconds',
    params,
    rateLimit: { requests: 10, windowSeconds: 60 },
    response: lazySchema(() =>
      z
        .object({
          notificationId: z.string(),
          status: z
            .enum(['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED', 'QUIET'])
            .describe('IN_PROGRESS: retries continue; `GET /v1/alert-notifications` shows the outcome'),
          result: z.string().nullable().describe('Response of the receiver, or why it could not be reached'),
        })
        .meta({ id: 'AlertChannelTest' }),
    ),
  },
});
