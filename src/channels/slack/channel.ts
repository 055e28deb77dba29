import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { httpUrl, isWebhookAt } from '../contract/fields.ts';
import { sendJson } from '../contract/send-json.ts';
import { slackMessage } from './message.ts';

/** An incoming webhook of Slack, or of a server that accepts the same message. */
export const slack = defineChannel({
  type: 'SLACK',
  title: 'Slack',
  icon: 'hash',
  config: z.object({
    url: httpUrl('URL of an incoming webhook'),
    channel: z.string().max(80).nullable().default(null).describe('Overrides the channel of the webhook'),
  }),
  sender: {
    kind: 'http',
    requests: ({ url, channel }, message) => [
      sendJson(
        url,
        { ...(channel === null ? {} : { channel }), ...slackMessage(message) },
        { 'x-service-notification-id': message.id },
      ),
    ],
  },
  configFor: (url) => (isWebhookAt(url, ['hooks.slack.com']) ? { url } : undefined),
  sample: { url: 'https://hooks.slack.com/services/T000/B000/XXXX', channel: '#ops' },
});
