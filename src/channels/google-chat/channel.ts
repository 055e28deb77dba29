import { html } from '@picket/lib/html.ts';
import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { channelName, httpUrl, isWebhookAt } from '../contract/fields.ts';
import type { ChannelMessage } from '../contract/message.ts';
import { sendJson } from '../contract/send-json.ts';
import { boundedFacts, cut } from '../contract/text.ts';

/**
 * A card sent by a Google Chat webhook: 32,000 bytes. All messages about one problem share a thread, and `requestId`
 * makes Google Chat drop duplicates.
 */
export const googleChat = defineChannel({
  type: 'GOOGLE_CHAT',
  title: 'Google Chat',
  icon: 'comment',
  config: z.object({
    name: channelName,
    url: httpUrl('URL of the webhook, with key and token. Anyone who has it can post'),
  }),
  hidden: ['url'],
  sender: {
    kind: 'http',
    requests: ({ url }, message) => [
      sendJson(addressOf(url, message), {
        fallbackText: cut(message.title, 500),
        thread: { threadKey: message.incidentKey },
        cardsV2: [{ cardId: 'alert', card: card(message) }],
      }),
    ],
  },
  configFor: (url) => (isWebhookAt(url, ['chat.googleapis.com']) ? { url } : undefined),
  sample: { name: 'Ops', url: 'https://chat.googleapis.com/v1/spaces/AAAA/messages?key=k&token=t' },
});

function addressOf(url: string, { id }: ChannelMessage): string {
  if (!URL.canParse(url)) return url;
  const whole = new URL(url);
  whole.searchParams.set('messageReplyOption', 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD');
  whole.searchParams.set('requestId', id);
  return whole.href;
}

function card({ title, cause, facts, link }: ChannelMessage) {
  const bounds = { valueLength: 2_000, totalLength: 6_000 };
  return {
    header: { title: cut(title, 200), subtitle: cut(cause, 200) },
    sections: [
      {
        widgets: [
          ...boundedFacts(facts, bounds, html).map(({ label, value }) => ({
            decoratedText: { topLabel: label, text: value, wrapText: true },
          })),
          ...(link === null
            ? []
            : [
                {
                  buttonList: {
                    buttons: [{ text: 'Open the alert', onClick: { openLink: { url: link } } }],
                  },
                },
              ]),
        ],
      },
    ],
  };
}
