import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { OffsetDateTime, Paging, QueryBoolean } from '../http/query.ts';
import { created, defineRoutes, successful } from '../http/route.ts';

const DateTime = lazySchema(() => z.iso.datetime());
const comment = z.string().max(1000).nullable().default(null);

const Actor = lazySchema(() =>
  z
    .object({
      kind: z
        .enum(['API_KEY', 'MEMBER', 'LINK'])
        .describe('LINK: a person with the link from a notification'),
      id: z.string().describe('Id of the API key, the member or the notification'),
      name: z.string(),
    })
    .meta({ id: 'AlertActor' }),
);

export const Acknowledgement = lazySchema(() =>
  z
    .object({ at: DateTime.schema, by: Actor.schema, comment: z.string().nullable() })
    .meta({ id: 'AlertAcknowledgement' }),
);

const OpenAlert = lazySchema(() =>
  z
    .object({
      checkId: z.string(),
      name: z.string(),
      state: z
        .enum(['FAILING', 'DEGRADED', 'PASSING'])
        .describe('State of the last runs; PASSING: the check flaps and is not stable yet'),
      isFlapping: z.boolean(),
      since: DateTime.schema.nullable().describe('Due time of the first run that did not pass'),
      isNotified: z.boolean().describe('Whether a notification was sent or is being sent'),
      notified: z
        .object({
          words: z
            .string()
            .describe(
              'In one sentence, such as "E-mail ops@example.com" or "no one: no channel is subscribed"',
            ),
          channels: z.array(
            z.object({
              alertChannelId: z.int(),
              type: z.string(),
              status: z.enum(['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED', 'QUIET']),
            }),
          ),
        })
        .describe('Notified channels, according to the log of notifications'),
      remindersSent: z.int(),
      checkResultId: z.string().nullable().describe('Result of its last alert'),
      acknowledgement: Acknowledgement.schema.nullable(),
      silencedUntil: DateTime.schema.nullable(),
      suppressedBy: z
        .enum(['muted', 'maintenance'])
        .nullable()
        .describe('Why no notifications are sent at present'),
    })
    .meta({ id: 'OpenAlert' }),
);
export type OpenAlert = z.output<typeof OpenAlert.schema>;

/** Longest duration of a silence, in milliseconds. */
export const maxSilenceMs = 366 * 86_400_000;

const scope = {
  checkId: z.uuid().optional().describe('One check'),
  tags: z
    .array(z.string().min(1).max(255))
    .min(1)
    .max(100)
    .optional()
    .describe('Checks with any of these tags'),
  location: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe(
      'All failures at a region, or at a private location by its slugName, including outages of the location',
    ),
};

const SilenceInput = lazySchema(() =>
  z
    .object({
      ...scope,
      endsAt: OffsetDateTime.optional().describe('End time, at most 366 days ahead. Either this or minutes'),
      minutes: z
        .int()
        .min(1)
        .max(maxSilenceMs / 60_000)
        .optional()
        .describe('Duration from now'),
      comment,
    })
    .superRefine((silence, context) => {
      const refuse = (key: string, message: string) =>
        context.addIssue({ code: 'custom', path: [key], message });
      const scopes = [silence.checkId, silence.tags, silence.location].filter((one) => one !== undefined);
      if (scopes.length !== 1) refuse('checkId', 'or "tags" or "location" is required, and only one of them');
      if ((silence.endsAt === undefined) === (silence.minutes === undefined)) {
        refuse('endsAt', 'or "minutes" is required, and not both');
      }
    })
    .meta({ id: 'SilenceInput' }),
);

const Silence = lazySchema(() =>
  z
    .object({
      id: z.string(),
      checkId: z.string().nullable(),
      tags: z.array(z.string()).nullable(),
      location: z.string().nullable(),
      comment: z.string().nullable(),
      isActive: z.boolean(),
      createdBy: Actor.schema,
      created_at: DateTime.schema,
      endsAt: DateTime.schema.describe('If the silence was ended early: the time of its end'),
    })
    .meta({ id: 'Silence' }),
);
export type Silence = z.output<typeof Silence.schema>;

const AlertAction = lazySchema(() =>
  z
    .object({
      id: z.string(),
      action: z.enum(['ACKNOWLEDGED', 'UNACKNOWLEDGED', 'SILENCED', 'SILENCE_ENDED']),
      checkId: z.string().nullable().describe('null if it did not concern a single check'),
      silenceId: z.string().nullable(),
      comment: z.string().nullable(),
      by: Actor.schema,
      created_at: DateTime.schema,
    })
    .meta({ id: 'AlertAction' }),
);
const ofSilences = { tag: 'Silences', credential: 'account' } as const;
const checkParams = z.object({ id: z.uuid() });

/** Query of the link in a notification: its expiry and its signature. */
export const LinkQuery = lazySchema(() =>
  z.object({
    until: z.string().max(32).optional(),
    signature: z.string().max(128).optional(),
  }),
);

const page = {
  path: '/v1/alert-notifications/{id}/page',
  tag: 'Alerts',
  credential: 'none',
  params: z.object({ id: z.uuid() }),
  query: LinkQuery,
  success: successful,
  response: z.string(),
  responseContentType: 'text/html; charset=utf-8',
} as const;

export const alertHandlingRoutes = defineRoutes('Alerts', 'account', {
  listOpenAlerts: {
    method: 'GET',
    path: '/v1/open-alerts',
    summary: 'Checks that fail, are degraded or flap, with their notifications and acknowledgements',
    query: z.object(Paging),
    response: lazySchema(() => z.array(OpenAlert.schema)),
  },
  acknowledgeAlert: {
    method: 'PUT',
    path: '/v1/checks/{id}/acknowledgement',
    summary: 'Acknowledge the open alert of a check: stops reminders and escalation until it recovers',
    params: checkParams,
    otherErrors: [409],
    isBodyOptional: true,
    body: z.object({ comment }).meta({ id: 'AlertAcknowledgementInput' }),
    response: OpenAlert,
  },
  withdrawAcknowledgement: {
    method: 'DELETE',
    path: '/v1/checks/{id}/acknowledgement',
    summary: 'Withdraw an acknowledgement: reminders and escalation continue',
    params: checkParams,
    otherErrors: [409],
  },
  listAlertActions: {
    method: 'GET',
    path: '/v1/alert-actions',
    summary: 'Log of acknowledgements and silences, newest first',
    query: z.object(Paging),
    response: lazySchema(() => z.array(AlertAction.schema)),
  },
  listSilences: {
    ...ofSilences,
    method: 'GET',
    path: '/v1/silences',
    summary: 'Silences of the account, newest first',
    query: lazySchema(() =>
      z.object({
        ...Paging,
        active: QueryBoolean.optional().describe('true: only active ones; false: only ended ones'),
      }),
    ),
    response: lazySchema(() => z.array(Silence.schema)),
  },
  createSilence: {
    ...ofSilences,
    method: 'POST',
    path: '/v1/silences',
    summary:
      'Send no notifications for a check, for checks with a tag, or for failures at a location, until a given time',
    body: SilenceInput,
    success: created,
    response: Silence,
  },
  getSilence: {
    ...ofSilences,
    method: 'GET',
    path: '/v1/silences/{id}',
    summary: 'One silence',
    params: checkParams,
    response: Silence,
  },
  endSilence: {
    ...ofSilences,
    method: 'DELETE',
    path: '/v1/silences/{id}',
    summary:
      'End a silence now: checks that are failing then send notifications. The silence stays in the list',
    params: checkParams,
  },
  showAlertPage: {
    ...page,
    method: 'GET',
    summary:
      'A page with the content of a notification and the current state of its check, readable by anyone with the link. With the signature of the link it offers to acknowledge and to silence',
  },
  handleAlertByPage: {
    ...page,
    method: 'POST',
    summary: 'Form submission of the page: acknowledge, or silence for some minutes',
    otherErrors: [403],
    bodyContentType: 'application/x-www-form-urlencoded',
    body: lazySchema(() =>
      z
        .string()
        .max(4_000)
        .describe(
          '`what`: acknowledge, or silence-check or silence-location and minutes; `name`: name of the person',
        ),
    ),
  },
});
