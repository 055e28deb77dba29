import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { jsonOf, sendJson } from '../contract/send-json.ts';
import { slackMessage } from '../slack/message.ts';

const Refusal = z.object({ ok: z.literal(false), error: z.string().default('no reason given') });
/** Temporary errors of Slack itself; all others are permanent. */
const passing: ReadonlySet<string> = new Set([
  'ratelimited',
  'rate_limited',
  'message_limit_exceeded',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
]);

/** Messages of a Slack app (Web API, `chat.postMessage`), one for each of its channels. */
export const slackApp = defineChannel({
  type: 'SLACK_APP',
  title: 'Slack app',
  icon: 'hash',
  config: z.object({
    slackChannels: z
      .array(z.string().min(1).max(80))
      .min(1)
      .max(50)
      .describe('Names or ids of channels. The app must be a member'),
    botToken: z
      .string()
      .max(512)
      .regex(/^[\x21-\x7e]*$/, 'must not have spaces')
      .nullable()
      .default(null)
      .describe(
        'Bot token of the app (xoxb-…) with the scope chat:write. Default: SLACK_BOT_TOKEN of the service',
      ),
  }),
  hidden: ['botToken'],
  sender: {
    kind: 'http',
    requests: ({ slackChannels, botToken }, message, { SLACK_URL, SLACK_BOT_TOKEN }) =>
      slackChannels.map((channel) =>
        sendJson(
          `${SLACK_URL.replace(/\/+$/, '')}/api/chat.postMessage`,
          { channel, unfurl_links: false, ...slackMessage(message) },
          { authorization: `Bearer ${botToken || SLACK_BOT_TOKEN}` },
        ),
      ),
    readAnswer: ({ text }) => {
      const { data } = Refusal.safeParse(jsonOf(text));
      return data ? { error: data.error, isRetryable: passing.has(data.error) } : {};
    },
  },
  whyUndelivered: ({ SLACK_BOT_TOKEN }, { botToken }) =>
    botToken || SLACK_BOT_TOKEN
      ? undefined
      : 'No bot token is configured: set config.botToken, or SLACK_BOT_TOKEN of the service.',
  isRefusedUndelivered: true,
  sample: { slackChannels: ['#ops'], botToken: 'xoxb-0000-0000-XXXX' },
});
