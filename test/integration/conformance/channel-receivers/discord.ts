import { z } from 'zod';
import { type DocumentedReceiver, jsonBody } from './receiver.ts';

const Embed = z.strictObject({
  title: z.string().min(1).max(256),
  url: z.url().optional(),
  color: z.int().min(0).max(0xffffff),
  timestamp: z.iso.datetime(),
  fields: z
    .array(z.strictObject({ name: z.string().min(1).max(256), value: z.string().min(1).max(1024) }))
    .max(25),
});
const Body = z.strictObject({
  embeds: z.array(Embed).min(1).max(10),
  allowed_mentions: z.strictObject({ parse: z.tuple([]) }),
});

const texts = (body: z.output<typeof Body>) =>
  body.embeds.flatMap(({ title, fields }) => [title, ...fields.flatMap(({ name, value }) => [name, value])]);

export const receiver: DocumentedReceiver = {
  config: (url) => ({ url: `${url}/api/webhooks/1234/abcd?thread_id=42` }),
  accepted: { status: 200, body: '{"id": "1"}' },
  check(request) {
    const { pathname, searchParams } = new URL(request.path, 'http://x');
    if (pathname !== '/api/webhooks/1234/abcd') throw new Error(pathname);
    if (searchParams.get('wait') !== 'true' || searchParams.get('thread_id') !== '42')
      throw new Error(request.path);
    const all = texts(Body.parse(jsonBody(request)));
    if (all.join('').length > 6000) throw new Error('more than 6000 characters in the embeds');
    // Markup that remains after removing escapes would be rendered.
    const bare = all.map((text) => text.replaceAll(/\\[!-/:-@[-`{-~]/g, '')).join('\n');
    if (/[*_~`|<>[\]#@]/.test(bare)) throw new Error(`markup in ${bare}`);
  },
  shown: (request) =>
    texts(Body.parse(jsonBody(request)))
      .map((text) => text.replaceAll(/\\([!-/:-@[-`{-~])/g, '$1'))
      .join('\n'),
};
