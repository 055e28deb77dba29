import { z } from 'zod';
import { type DocumentedReceiver, jsonBody } from './receiver.ts';

const TextRun = z.strictObject({
  type: z.literal('TextRun'),
  text: z.string().min(1),
  weight: z.enum(['Default', 'Lighter', 'Bolder']).optional(),
  size: z.enum(['Default', 'Small', 'Medium', 'Large', 'ExtraLarge']).optional(),
  color: z.enum(['Default', 'Dark', 'Light', 'Accent', 'Good', 'Warning', 'Attention']).optional(),
});
const Body = z.strictObject({
  type: z.literal('message'),
  attachments: z.tuple([
    z.strictObject({
      contentType: z.literal('application/vnd.microsoft.card.adaptive'),
      contentUrl: z.null(),
      content: z.strictObject({
        $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
        type: z.literal('AdaptiveCard'),
        version: z.enum(['1.2', '1.3', '1.4', '1.5']),
        fallbackText: z.string(),
        msteams: z.strictObject({ width: z.literal('Full') }),
        // Only text elements without Markdown.
        body: z
          .array(z.strictObject({ type: z.literal('RichTextBlock'), inlines: z.array(TextRun).min(1) }))
          .min(1),
        actions: z
          .array(z.strictObject({ type: z.literal('Action.OpenUrl'), title: z.string(), url: z.url() }))
          .max(6)
          .optional(),
      }),
    }),
  ]),
});

export const receiver: DocumentedReceiver = {
  config: (url) => ({ url: `${url}/workflows/1/triggers/manual/paths/invoke?sig=x` }),
  accepted: { status: 202, body: '' },
  check(request) {
    if (request.path !== '/workflows/1/triggers/manual/paths/invoke?sig=x') throw new Error(request.path);
    Body.parse(jsonBody(request));
    if (Buffer.byteLength(request.body) > 28 * 1024) throw new Error('larger than 28 kB');
  },
  shown: (request) =>
    Body.parse(jsonBody(request))
      .attachments[0].content.body.map(({ inlines }) => inlines.map(({ text }) => text).join(''))
      .join('\n'),
};
