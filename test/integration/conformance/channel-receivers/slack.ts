import { z } from 'zod';
import { type DocumentedReceiver, jsonBody, requireOnlyTags, unescapeHtml } from './receiver.ts';

const Section = z.strictObject({
  type: z.literal('section'),
  text: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('plain_text'),
      text: z.string().min(1).max(3000),
      emoji: z.boolean(),
    }),
    // Contains no text of users.
    z.strictObject({
      type: z.literal('mrkdwn'),
      text: z.string().regex(/^<https?:[^<>|]+\|Open the alert>$/),
    }),
  ]),
});
const fields = {
  channel: z.string().optional(),
  text: z.string().min(1).max(40_000),
  attachments: z.tuple([
    z.strictObject({
      color: z.string().regex(/^#[0-9a-f]{6}$/),
      fallback: z.string(),
      blocks: z.array(Section).min(1).max(50),
    }),
  ]),
};
export const SlackBody = z.strictObject(fields);
export const SlackAppBody = z.strictObject({ ...fields, channel: z.string(), unfurl_links: z.boolean() });

/** @throws if Slack would refuse it, or would format it. */
export function checkSlack({ text, attachments }: z.output<typeof SlackBody>): void {
  requireOnlyTags(text, /(?!)/g);
  const all = attachments[0].blocks.map((block) => block.text.text).join('');
  if (all.length > 13_000) throw new Error('msg_blocks_too_long');
}

export function slackTexts({ text, attachments }: z.output<typeof SlackBody>): string {
  return `${unescapeHtml(text)}\n${attachments[0].blocks.map((block) => block.text.text).join('\n')}`;
}

export const receiver: DocumentedReceiver = {
  config: (url) => ({ url: `${url}/services/T0/B0/X`, channel: '#ops' }),
  accepted: { status: 200, body: 'ok' },
  check(request) {
    if (request.path !== '/services/T0/B0/X') throw new Error(request.path);
    checkSlack(SlackBody.parse(jsonBody(request)));
  },
  shown: (request) => slackTexts(SlackBody.parse(jsonBody(request))),
};
