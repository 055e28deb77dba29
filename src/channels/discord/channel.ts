import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { channelName, httpUrl, isWebhookAt } from '../contract/fields.ts';
import type { ChannelMessage } from '../contract/message.ts';
import { sendJson } from '../contract/send-json.ts';
import { boundedFacts, cutWritten, escapeMarkdown } from '../contract/text.ts';

const colours = { critical: 0xd92d20, warning: 0xf79009, info: 0x12b76a } as const;
const maxFields = 25;

/**
 * An embed sent by a Discord webhook: 6,000 characters in all, titles 256, values 1,024. Mentions are disabled,
 * whatever the texts contain.
 */
export const discord = defineChannel({
  type: 'DISCORD',
  title: 'Discord',
  icon: 'comment-discussion',
  config: z.object({
    name: channelName,
    url: httpUrl('URL of the webhook. Anyone who has it can post'),
  }),
  hidden: ['url'],
  sender: {
    kind: 'http',
    requests: ({ url }, message) => [
      sendJson(withWait(url), { embeds: [embed(message)], allowed_mentions: { parse: [] } }),
    ],
  },
  configFor: (url) => (isWebhookAt(url, ['discord.com', 'discordapp.com']) ? { url } : undefined),
  sample: { name: 'Ops', url: 'https://discord.com/api/webhooks/1234567890/abcdefghijklmnop' },
});

/** With `wait`, Discord responds after it has stored the message, and reports a failure to store it. */
function withWait(url: string): string {
  if (!URL.canParse(url)) return url;
  const whole = new URL(url);
  whole.searchParams.set('wait', 'true');
  return whole.href;
}

function embed({ title, severity, facts, link, createdAt }: ChannelMessage) {
  return {
    title: cutWritten(title, 256, escapeMarkdown),
    ...(link === null ? {} : { url: link }),
    color: colours[severity],
    timestamp: new Date(createdAt).toISOString(),
    fields: boundedFacts(
      facts.slice(0, maxFields),
      { valueLength: 1_024, totalLength: 5_500 },
      escapeMarkdown,
    ).map(({ label, value }) => ({ name: label, value })),
  };
}
