import { z } from 'zod';
import type { MaskedValue } from '../../checks/contract/masking.ts';
import { NumericId, Paging } from '../http/query.ts';
import { created, defineRoute, noContent, successful } from '../http/route.ts';
import { Warning } from '../http/warning.ts';

const KeyValue = z.object({
  key: z.string().min(1).max(255),
  value: z.string().max(4096),
  locked: z.boolean().default(false).describe('Answers show the value as ""'),
});

const httpUrl = (meaning: string) =>
  z
    .string()
    .max(2048)
    .regex(/^https?:\/\/\S+$/i, 'must be an http or https URL')
    .describe(meaning);
const phoneNumber = z.string().regex(/^\+[1-9]\d{4,14}$/, 'must be a phone number such as +491701234567');

const EmailConfig = z.object({ address: z.email().max(320) });
const SlackConfig = z.object({
  url: httpUrl('Address of an incoming webhook'),
  channel: z.string().max(80).nullable().default(null).describe('Instead of the channel of the webhook'),
});
const SlackAppConfig = z.object({ slackChannels: z.array(z.string().min(1).max(80)).min(1).max(50) });
const PhoneConfig = z.object({ name: z.string().max(255).default(''), number: phoneNumber });
const PagerDutyConfig = z.object({
  account: z.string().max(255).nullable().default(null),
  serviceKey: z.string().min(1).max(64).describe('Integration key of the service (Events API v2)'),
  serviceName: z.string().max(255).nullable().default(null),
});
const OpsgenieConfig = z.object({
  name: z.string().max(255).default(''),
  apiKey: z.string().min(1).max(255).describe('Key of an API integration'),
  region: z.enum(['US', 'EU']).default('US'),
  priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']).default('P3'),
});
const WebhookConfig = z.object({
  name: z.string().min(1).max(255),
  url: z
    .string()
    .min(1)
    .max(2048)
    .describe('Where it is sent; may hold templates such as {{CHECK_ID}}, whose values are percent-encoded'),
  webhookType: z.string().max(64).nullable().default(null).describe('Free text for clients; of no effect'),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'HEAD', 'DELETE']).default('POST'),
  template: z
    .string()
    .max(20_000)
    .nullable()
    .default(null)
    .describe('Body (Handlebars); without it a JSON document with everything there is'),
  webhookSecret: z
    .string()
    .max(512)
    .nullable()
    .default(null)
    .describe('Key of the HMAC-SHA256 of the body in the header x-service-signature'),
  headers: z.array(KeyValue).max(50).default([]).describe('Values may hold templates'),
  queryParameters: z.array(KeyValue).max(50).default([]).describe('Values may hold templates'),
});

/** The config of each type of channel, and how it is delivered. */
export const channelConfigs = {
  EMAIL: EmailConfig,
  SLACK: SlackConfig,
  SLACK_APP: SlackAppConfig,
  WEBHOOK: WebhookConfig,
  SMS: PhoneConfig,
  PAGERDUTY: PagerDutyConfig,
  OPSGENIE: OpsgenieConfig,
  CALL: PhoneConfig,
} as const;
export type ChannelType = keyof typeof channelConfigs;
export type ChannelConfig<T extends ChannelType> = z.output<(typeof channelConfigs)[T]>;
export const channelTypes = Object.keys(channelConfigs) as [ChannelType, ...ChannelType[]];

/**
 * Types that are kept but not delivered: they need an app or a carrier that a service of one's own has not.
 */
export const undeliveredTypes: ReadonlySet<string> = new Set<ChannelType>(['SLACK_APP', 'SMS', 'CALL']);

/** Types that need a mail server. */
export const mailTypes: ReadonlySet<string> = new Set<ChannelType>(['EMAIL']);

/** What answers never show of a channel. */
export const maskedInChannels: readonly MaskedValue[] = [
  { path: ['config', 'webhookSecret'] },
  { path: ['config', 'apiKey'] },
  { path: ['config', 'serviceKey'] },
  { path: ['config', 'headers'], flags: ['locked'] },
  { path: ['config', 'queryParameters'], flags: ['locked'] },
];

const Flags = z.object({
  sendFailure: z.boolean().default(true),
  sendRecovery: z.boolean().default(true),
  sendDegraded: z.boolean().default(false),
  sslExpiry: z.boolean().default(false).describe('Whether to warn about certificates that expire'),
  sslExpiryThreshold: z.int().min(1).max(30).default(30).describe('Days before the end of a certificate'),
  autoSubscribe: z.boolean().default(false).describe('Whether new checks are subscribed by themselves'),
});

const SubscriptionFields = {
  checkId: z.uuid().nullable().default(null),
  groupId: z.int().nullable().default(null),
  activated: z.boolean().default(true),
};

const ofType = <T extends ChannelType>(type: T) =>
  z.object({
    type: z.literal(type),
    config: channelConfigs[type],
    ...Flags.shape,
    subscriptions: z
      .array(z.object(SubscriptionFields))
      .max(10_000)
      .optional()
      .describe(
        'All of its subscriptions, each with exactly one of checkId and groupId; absent: none, or the present',
      ),
  });

/** A channel as it is written. The config belongs to the type. */
export const AlertChannelInput = z
  .discriminatedUnion('type', [
    ofType('EMAIL'),
    ofType('SLACK'),
    ofType('SLACK_APP'),
    ofType('WEBHOOK'),
    ofType('SMS'),
    ofType('PAGERDUTY'),
    ofType('OPSGENIE'),
    ofType('CALL'),
  ])
  .meta({ id: 'AlertChannelInput', discriminator: { propertyName: 'type' } });
export type AlertChannelInput = z.output<typeof AlertChannelInput>;

const Subscription = z
  .object({ id: z.int(), ...SubscriptionFields })
  .meta({ id: 'AlertChannelSubscription' });

const viewOf = <T extends ChannelType, Config extends z.ZodType>(type: T, config: Config) =>
  z.object({
    id: z.int(),
    type: z.literal(type),
    config: config.describe('As written; secrets and locked values are ""'),
    ...Flags.shape,
    isDelivered: z
      .boolean()
      .describe(
        'False for types this service keeps but cannot deliver (SLACK_APP, SMS, CALL), and for EMAIL without a mail server',
      ),
    subscriptions: z.array(Subscription),
    warnings: z.array(Warning).describe('Why nobody is notified by it as things are; empty when somebody is'),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime().nullable(),
  });

export const AlertChannel = z
  .discriminatedUnion('type', [
    viewOf('EMAIL', EmailConfig),
    viewOf('SLACK', SlackConfig),
    viewOf('SLACK_APP', SlackAppConfig),
    viewOf('WEBHOOK', WebhookConfig),
    viewOf('SMS', PhoneConfig),
    viewOf('PAGERDUTY', PagerDutyConfig.extend({ serviceKey: z.string() })),
    viewOf('OPSGENIE', OpsgenieConfig.extend({ apiKey: z.string() })),
    viewOf('CALL', PhoneConfig),
  ])
  .meta({ id: 'AlertChannel', discriminator: { propertyName: 'type' } });
export type AlertChannel = z.output<typeof AlertChannel>;

const AlertChannelPatch = z.looseObject({ type: z.enum(channelTypes).optional() }).meta({
  id: 'AlertChannelPatch',
  description:
    'Any fields of AlertChannelInput; absent ones keep their value, fields of `config` too unless the type changes. A ' +
    'masked "" keeps the stored value',
});

const activated = z.boolean().default(true);
const BulkSubscription = z
  .union([
    z.strictObject({ all: z.literal(true).describe('Every check of the account'), activated }),
    z.strictObject({
      tags: z.array(z.string().min(1)).min(1).max(100).describe('Checks with any of these tags'),
      activated,
    }),
  ])
  .meta({ id: 'AlertChannelBulkSubscription', description: 'Exactly one of all and tags' });

const channelRoute = { tag: 'Alert channels', credential: 'account' } as const;
const params = z.object({ id: NumericId });

export const alertChannelRoutes = {
  listAlertChannels: defineRoute({
    ...channelRoute,
    method: 'GET',
    path: '/v1/alert-channels',
    operationId: 'listAlertChannels',
    summary: 'Alert channels of the account, newest first',
    query: z.object(Paging),
    success: successful,
    response: z.array(AlertChannel),
  }),
  createAlertChannel: defineRoute({
    ...channelRoute,
    method: 'POST',
    path: '/v1/alert-channels',
    operationId: 'createAlertChannel',
    summary: 'Create an alert channel',
    body: AlertChannelInput,
    success: created,
    response: AlertChannel,
  }),
  getAlertChannel: defineRoute({
    ...channelRoute,
    method: 'GET',
    path: '/v1/alert-channels/{id}',
    operationId: 'getAlertChannel',
    summary: 'One alert channel',
    params,
    success: successful,
    response: AlertChannel,
  }),
  updateAlertChannel: defineRoute({
    ...channelRoute,
    method: 'PUT',
    path: '/v1/alert-channels/{id}',
    operationId: 'updateAlertChannel',
    summary: 'Change an alert channel; absent fields keep their value',
    params,
    body: AlertChannelPatch,
    success: successful,
    response: AlertChannel,
  }),
  deleteAlertChannel: defineRoute({
    ...channelRoute,
    method: 'DELETE',
    path: '/v1/alert-channels/{id}',
    operationId: 'deleteAlertChannel',
    summary: 'Delete an alert channel and its subscriptions',
    params,
    success: noContent,
  }),
  updateAlertChannelSubscriptions: defineRoute({
    ...channelRoute,
    method: 'PUT',
    path: '/v1/alert-channels/{id}/subscriptions',
    operationId: 'updateAlertChannelSubscriptions',
    summary: 'Subscribe a check or a group to a channel, or switch its subscription on or off',
    params,
    body: z.object(SubscriptionFields).meta({
      id: 'AlertChannelSubscriptionInput',
      description: 'Exactly one of checkId and groupId',
    }),
    success: successful,
    response: Subscription,
  }),
  bulkSubscribeAlertChannel: defineRoute({
    ...channelRoute,
    method: 'POST',
    path: '/v1/alert-channels/{id}/subscriptions/bulk',
    operationId: 'bulkSubscribeAlertChannel',
    summary:
      'Subscribe all checks, or those with a tag, to a channel; groups with channels of their own, too',
    params,
    body: BulkSubscription,
    success: successful,
    response: z
      .object({
        checks: z.int().describe('Checks that are subscribed now, or not any more'),
        groups: z.int().describe('Groups whose channels count instead of those of their checks'),
        warnings: z.array(Warning),
      })
      .meta({ id: 'AlertChannelBulkSubscribed' }),
  }),
  testAlertChannel: defineRoute({
    ...channelRoute,
    method: 'POST',
    path: '/v1/alert-channels/{id}/test',
    operationId: 'testAlertChannel',
    summary: 'Send a test notification to a channel and say how it went; waits up to 25 seconds',
    params,
    success: successful,
    rateLimit: { requests: 10, windowSeconds: 60 },
    response: z
      .object({
        notificationId: z.string(),
        status: z
          .enum(['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED'])
          .describe('IN_PROGRESS: it is tried on; `GET /v1/alert-notifications` shows how it ends'),
        result: z.string().nullable().describe('What the receiver answered, or why it could not be reached'),
      })
      .meta({ id: 'AlertChannelTest' }),
  }),
};
