import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { channelName, httpUrl } from '../contract/fields.ts';
import { detailsOf } from '../contract/message.ts';
import { sendJson } from '../contract/send-json.ts';
import { boundedFacts, cut, escapeMarkdown } from '../contract/text.ts';

/** Alert events of an HTTP source of incident.io (API v2); all events of one problem share a deduplication key. */
export const incidentIo = defineChannel({
  type: 'INCIDENT_IO',
  title: 'incident.io',
  icon: 'issue-opened',
  config: z.object({
    name: channelName,
    url: httpUrl('URL of the HTTP alert source: https://api.incident.io/v2/alert_events/http/…'),
    token: z
      .string()
      .regex(/^[\x21-\x7e]{1,512}$/, 'must not be empty or have spaces')
      .describe('Token of the alert source'),
  }),
  hidden: ['token'],
  address: 'url',
  incidentsAt: ['url'],
  sender: {
    kind: 'http',
    requests: ({ url, token }, message) => [
      sendJson(
        url,
        {
          title: cut(message.title, 500),
          description: boundedFacts(
            message.facts,
            { valueLength: 3_000, totalLength: 10_000 },
            escapeMarkdown,
          )
            .map(({ label, value }) => `**${label}**: ${value}`)
            .join('\n\n'),
          deduplication_key: message.incidentKey,
          status: message.isOver ? 'resolved' : 'firing',
          metadata: {
            ...detailsOf(message),
            severity: message.severity,
            owner: message.owner,
            locations: message.locations,
            tags: message.tags,
          },
          ...(message.link === null ? {} : { source_url: message.link }),
        },
        { authorization: `Bearer ${token}` },
      ),
    ],
  },
  sample: {
    name: 'Ops',
    url: 'https://api.incident.io/v2/alert_events/http/01GW2G3V0S59R238FAHPDS1R66',
    token: 'some-random-string',
  },
});
