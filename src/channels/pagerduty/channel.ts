import { z } from 'zod';
import { defineChannel } from '../contract/channel.ts';
import { detailsOf } from '../contract/message.ts';
import { jsonOf, sendJson } from '../contract/send-json.ts';
import { cut } from '../contract/text.ts';

const Refusal = z.object({ message: z.string().optional(), errors: z.array(z.string()).optional() });

/**
 * PagerDuty events (Events API v2). All events of one check share a `dedup_key`, so that a recovery resolves what a
 * failure triggered; certificates have another.
 */
export const pagerDuty = defineChannel({
  type: 'PAGERDUTY',
  title: 'PagerDuty',
  icon: 'bell',
  config: z.object({
    account: z.string().max(255).nullable().default(null),
    serviceKey: z.string().min(1).max(64).describe('Integration key of the service (Events API v2)'),
    serviceName: z.string().max(255).nullable().default(null),
  }),
  hidden: ['serviceKey'],
  incidentsAt: ['serviceKey'],
  sender: {
    kind: 'http',
    requests: ({ serviceKey }, message, { PAGERDUTY_URL }) => [
      sendJson(`${PAGERDUTY_URL.replace(/\/+$/, '')}/v2/enqueue`, {
        routing_key: serviceKey,
        event_action: message.isOver ? 'resolve' : 'trigger',
        dedup_key: message.incidentKey,
        payload: {
          summary: cut(message.title, 1024),
          source: message.locations[0] ?? 'picket',
          severity: message.severity,
          timestamp: new Date(message.createdAt).toISOString(),
          custom_details: detailsOf(message),
        },
        ...(message.link === null || !/^https?:/.test(message.link)
          ? {}
          : { links: [{ href: message.link, text: 'Alert' }] }),
      }),
    ],
    readAnswer: ({ text }) => {
      const { message, errors } = Refusal.safeParse(jsonOf(text)).data ?? {};
      const why = [message ?? '', ...(errors ?? [])].filter((part) => part !== '').join(': ');
      return why === '' ? {} : { reason: why };
    },
  },
  sample: { serviceKey: '0123456789abcdef0123456789abcdef', serviceName: 'Shop', account: 'acme' },
});
