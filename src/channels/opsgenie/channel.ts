import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { channelName } from '../contract/fields.ts';
import { type ChannelMessage, detailsOf } from '../contract/message.ts';
import { jsonOf, sendJson } from '../contract/send-json.ts';
import { boundedFacts, cut, oneLine, textOf } from '../contract/text.ts';

const regions = { US: 'https://api.opsgenie.com', EU: 'https://api.eu.opsgenie.com' } as const;

const Refusal = z.object({ message: z.string() });

/** Opens and closes Opsgenie alerts (Alert API v2); all alerts of one check share an alias. */
export const opsgenie = defineChannel({
  type: 'OPSGENIE',
  title: 'Opsgenie',
  icon: 'alert',
  config: z.object({
    name: channelName,
    apiKey: z.string().min(1).max(255).describe('Key of an API integration'),
    region: z.enum(['US', 'EU']).default('US'),
    priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']).default('P3'),
  }),
  hidden: ['apiKey'],
  incidentsAt: ['region', 'apiKey'],
  sender: {
    kind: 'http',
    requests({ apiKey, region, priority }, message, { OPSGENIE_URL }) {
      const alerts = `${(OPSGENIE_URL ?? regions[region]).replace(/\/+$/, '')}/v2/alerts`;
      const alias = message.incidentKey;
      const headers = { authorization: `GenieKey ${apiKey}` };
      if (message.isOver) {
        const end = { source: 'picket', note: cut(message.title, 1_000) };
        return [sendJson(`${alerts}/${alias}/close?identifierType=alias`, end, headers)];
      }
      const alert = {
        message: cut(message.title, 130),
        alias,
        description: cut(textOf(message.facts), 10_000),
        priority,
        source: 'picket',
        tags: message.tags.slice(0, 20).map((tag) => cut(oneLine(tag), 50)),
        details: boundedDetails(message),
      };
      return [sendJson(alerts, alert, headers)];
    },
    readAnswer: ({ text }) => ({ reason: Refusal.safeParse(jsonOf(text)).data?.message }),
  },
  sample: { name: 'team', apiKey: '01234567-89ab-cdef-0123-456789abcdef', region: 'EU', priority: 'P2' },
});

/** Opsgenie accepts 8,000 characters of details. */
function boundedDetails(message: ChannelMessage): Record<string, string> {
  const facts = Object.entries(detailsOf(message)).map(([label, value]) => ({ label, value }));
  const bounded = boundedFacts(facts, { valueLength: 1_000, totalLength: 7_500 });
  return Object.fromEntries(bounded.map(({ label, value }) => [label, value]));
}
