import type { ChannelConfig } from '../../../protocol/alerts/alert-channel.ts';
import type { OutboundRequest } from './outbound-http.ts';
import { detailsOf } from './pagerduty.ts';
import { type AlertMessage, incidentKeyOf, titleOf } from './template.ts';

const regions = { US: 'https://api.opsgenie.com', EU: 'https://api.eu.opsgenie.com' } as const;

/** An alert of Opsgenie (Alert API v2), or its end: all of one check has one alias. */
export function opsgenieRequest(
  config: ChannelConfig<'OPSGENIE'>,
  message: AlertMessage,
  baseUrl: string | undefined,
): OutboundRequest {
  const base = (baseUrl ?? regions[config.region]).replace(/\/+$/, '');
  const alias = incidentKeyOf(message);
  const isOver = message.notice === 'recovery';
  const body = isOver
    ? { source: 'picket', note: titleOf(message) }
    : {
        message: titleOf(message).slice(0, 130),
        alias,
        description: message.facts.error?.slice(0, 10_000) ?? '',
        priority: config.priority,
        source: 'picket',
        tags: message.facts.tags.slice(0, 20).map((tag) => tag.slice(0, 50)),
        details: detailsOf(message),
      };
  return {
    url: isOver ? `${base}/v2/alerts/${alias}/close?identifierType=alias` : `${base}/v2/alerts`,
    method: 'POST',
    headers: [
      ['content-type', 'application/json'],
      ['authorization', `GenieKey ${config.apiKey}`],
      ['user-agent', 'picket'],
    ],
    body: JSON.stringify(body),
  };
}
