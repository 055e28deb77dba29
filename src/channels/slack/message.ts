import type { ChannelMessage } from '../contract/message.ts';
import { boundedFacts, cutWritten } from '../contract/text.ts';

const colours = { critical: '#d92d20', warning: '#f79009', info: '#12b76a' } as const;

/** Escapes the three characters that are special in Slack's texts. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * A Slack message. A block may have 3,000 characters and all blocks some 13,000. Foreign text goes into plain-text
 * fields, in which Slack ignores formatting and mentions.
 */
export function slackMessage({ title, severity, facts, link }: ChannelMessage) {
  const heading = cutWritten(title, 500, escaped);
  const section = (type: 'plain_text' | 'mrkdwn', text: string) => ({
    type: 'section',
    text: { type, text, ...(type === 'plain_text' ? { emoji: false } : {}) },
  });
  return {
    text: heading,
    attachments: [
      {
        color: colours[severity],
        fallback: heading,
        blocks: [
          ...boundedFacts(facts, { valueLength: 2_800, totalLength: 9_000 }).map(({ label, value }) =>
            section('plain_text', `${label}: ${value}`),
          ),
          ...(link === null
            ? []
            : [section('mrkdwn', `<${escaped(link).replaceAll('|', '%7C')}|Open the alert>`)]),
        ],
      },
    ],
  };
}
