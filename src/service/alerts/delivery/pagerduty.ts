import type { ChannelConfig } from '../../../protocol/alerts/alert-channel.ts';
import type { OutboundRequest } from './outbound-http.ts';
import { type AlertMessage, incidentKeyOf, titleOf, variablesOf } from './template.ts';

/**
 * An event for PagerDuty (Events API v2). Everything of one check has one `dedup_key`, so that a recovery
 * resolves what a failure triggered; certificates have another.
 */
export function pagerDutyRequest(
  config: ChannelConfig<'PAGERDUTY'>,
  message: AlertMessage,
  baseUrl: string,
): OutboundRequest {
  const isOver = message.notice === 'recovery';
  const body = {
    routing_key: config.serviceKey,
    event_action: isOver ? 'resolve' : 'trigger',
    dedup_key: incidentKeyOf(message),
    payload: {
      summary: titleOf(message).slice(0, 1024),
      source: message.facts.runLocation ?? 'picket',
      severity: message.notice === 'failure' ? 'critical' : isOver ? 'info' : 'warning',
      timestamp: new Date(message.created).toISOString(),
      custom_details: detailsOf(message),
    },
    ...(message.pageLink === null || !/^https?:/.test(message.pageLink)
      ? {}
      : { links: [{ href: message.pageLink, text: 'Alert' }] }),
  };
  return {
    url: `${baseUrl.replace(/\/+$/, '')}/v2/enqueue`,
    method: 'POST',
    headers: [
      ['content-type', 'application/json'],
      ['user-agent', 'picket'],
    ],
    body: JSON.stringify(body),
  };
}

/** Everything there is to say, for receivers that show details as a table. */
export function detailsOf(message: AlertMessage): Record<string, string> {
  const facts = Object.entries(variablesOf(message)).filter(([, value]) => value !== null && value !== '');
  return Object.fromEntries(facts.map(([name, value]) => [name.toLowerCase(), String(value)]));
}
