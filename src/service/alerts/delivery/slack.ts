import type { ChannelConfig } from '../../../protocol/alerts/alert-channel.ts';
import type { OutboundRequest } from './outbound-http.ts';
import { type AlertMessage, factLines, titleOf } from './template.ts';

const colours = { failure: '#d92d20', degraded: '#f79009', recovery: '#12b76a', ssl: '#f79009' } as const;

/** The request of an incoming webhook of Slack, or of anything that understands the same message. */
export function slackRequest(config: ChannelConfig<'SLACK'>, message: AlertMessage): OutboundRequest {
  const title = escaped(titleOf(message));
  const link = message.pageLink;
  const heading = link === null ? `*${title}*` : `*<${escaped(link).replaceAll('|', '%7C')}|${title}>*`;
  const body = {
    text: title,
    ...(config.channel === null ? {} : { channel: config.channel }),
    attachments: [
      {
        color: colours[message.notice],
        fallback: title,
        blocks: [
          { type: 'section', text: { type: 'mrkdwn', text: heading } },
          ...factLines(message).map(({ label, value }) => ({
            type: 'section',
            text: { type: 'mrkdwn', text: `*${label}*\n${escaped(value).slice(0, 2_800)}` },
          })),
        ],
      },
    ],
  };
  return {
    url: config.url,
    method: 'POST',
    headers: [
      ['content-type', 'application/json'],
      ['user-agent', 'picket'],
      ['x-service-notification-id', message.id],
    ],
    body: JSON.stringify(body),
  };
}

/** The three characters that mean something in Slack's texts. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
