import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { channelName, httpUrl } from '../contract/fields.ts';
import { sendJson } from '../contract/send-json.ts';
import { cutBytes, textOf } from '../contract/text.ts';

const marks = {
  critical: { priority: 5, tags: ['rotating_light'] },
  warning: { priority: 4, tags: ['warning'] },
  info: { priority: 3, tags: ['white_check_mark'] },
} as const;

/** A message to an ntfy topic, as JSON. From 4,096 bytes on it would arrive as a file. */
export const ntfy = defineChannel({
  type: 'NTFY',
  title: 'ntfy',
  icon: 'broadcast',
  config: z.object({
    name: channelName,
    url: httpUrl('URL of the server').default('https://ntfy.sh'),
    topic: z.string().regex(/^[\w-]{1,64}$/, 'must be up to 64 letters, digits, "_" and "-"'),
    token: z
      .string()
      .max(512)
      .regex(/^[\x21-\x7e]*$/, 'must not have spaces')
      .nullable()
      .default(null)
      .describe('Access token, for topics that need one'),
  }),
  hidden: ['token'],
  address: 'url',
  sender: {
    kind: 'http',
    requests: ({ url, topic, token }, { title, facts, severity, link }) => [
      sendJson(
        `${url.replace(/\/+$/, '')}/`,
        {
          topic,
          title: cutBytes(title, 250),
          message: cutBytes(textOf(facts), 3_000),
          priority: marks[severity].priority,
          tags: marks[severity].tags,
          ...(link === null ? {} : { click: link }),
        },
        token === null || token === '' ? {} : { authorization: `Bearer ${token}` },
      ),
    ],
  },
  sample: { name: 'Ops', url: 'https://ntfy.sh', topic: 'picket-ops-5f3a', token: null },
});
