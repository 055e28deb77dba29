import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { channelName, httpUrl, isWebhookAt } from '../contract/fields.ts';
import type { ChannelMessage } from '../contract/message.ts';
import { sendJson } from '../contract/send-json.ts';
import { boundedFacts, cut } from '../contract/text.ts';

const colours = { critical: 'Attention', warning: 'Warning', info: 'Good' } as const;

const teamsHosts = ['webhook.office.com', 'logic.azure.com', 'api.powerplatform.com'];

/**
 * An adaptive card for a Teams workflow ("When a Teams webhook request is received"). Texts are runs of a
 * RichTextBlock, which does not interpret Markdown. A message may have 28 kB.
 */
export const teams = defineChannel({
  type: 'MSTEAMS',
  title: 'Microsoft Teams',
  icon: 'people',
  config: z.object({
    name: channelName,
    url: httpUrl('URL of the webhook of a workflow. Anyone who has it can post'),
  }),
  hidden: ['url'],
  sender: {
    kind: 'http',
    requests: ({ url }, message) => [
      sendJson(url, {
        type: 'message',
        attachments: [
          {
            contentType: 'application/vnd.microsoft.card.adaptive',
            contentUrl: null,
            content: card(message),
          },
        ],
      }),
    ],
  },
  configFor: (url) => (isWebhookAt(url, teamsHosts) ? { url } : undefined),
  sample: {
    name: 'Ops',
    url: 'https://prod-00.westeurope.logic.azure.com:443/workflows/0123/triggers/manual/paths/invoke?sig=x',
  },
});

function card({ title, severity, facts, link }: ChannelMessage) {
  const run = (text: string, style: object) => ({ type: 'TextRun', text, ...style });
  return {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    fallbackText: cut(title, 500),
    msteams: { width: 'Full' },
    body: [
      {
        type: 'RichTextBlock',
        inlines: [run(cut(title, 500), { size: 'Large', weight: 'Bolder', color: colours[severity] })],
      },
      ...boundedFacts(facts, { valueLength: 1_500, totalLength: 5_000 }).map(({ label, value }) => ({
        type: 'RichTextBlock',
        inlines: [run(`${label}: `, { weight: 'Bolder' }), run(value, {})],
      })),
    ],
    ...(link === null ? {} : { actions: [{ type: 'Action.OpenUrl', title: 'Open the alert', url: link }] }),
  };
}
