import { z } from 'zod';
import { type DocumentedReceiver, jsonBody, requireOnlyTags, unescapeHtml } from './receiver.ts';

const Decorated = z.strictObject({
  decoratedText: z.strictObject({ topLabel: z.string(), text: z.string().min(1), wrapText: z.boolean() }),
});
const Button = z.strictObject({
  text: z.string(),
  onClick: z.strictObject({ openLink: z.strictObject({ url: z.url() }) }),
});
const Buttons = z.strictObject({ buttonList: z.strictObject({ buttons: z.array(Button).min(1) }) });
const Body = z.strictObject({
  fallbackText: z.string(),
  thread: z.strictObject({ threadKey: z.string().min(1).max(4000) }),
  cardsV2: z.tuple([
    z.strictObject({
      cardId: z.string(),
      card: z.strictObject({
        header: z.strictObject({ title: z.string().min(1).max(200), subtitle: z.string() }),
        sections: z.tuple([
          z.strictObject({
            widgets: z
              .array(z.union([Decorated, Buttons]))
              .min(1)
              .max(100),
          }),
        ]),
      }),
    }),
  ]),
});

function texts(body: z.output<typeof Body>): string[] {
  const { widgets } = body.cardsV2[0].card.sections[0];
  return widgets.flatMap((widget) => ('decoratedText' in widget ? [widget.decoratedText.text] : []));
}

export const receiver: DocumentedReceiver = {
  config: (url) => ({ url: `${url}/v1/spaces/AAAA/messages?key=k&token=t` }),
  accepted: { status: 200, body: '{"name": "spaces/AAAA/messages/1"}' },
  check(request) {
    const { pathname, searchParams } = new URL(request.path, 'http://x');
    if (pathname !== '/v1/spaces/AAAA/messages' || searchParams.get('token') !== 't')
      throw new Error(pathname);
    z.uuid().parse(searchParams.get('requestId'));
    if (searchParams.get('messageReplyOption') !== 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD') {
      throw new Error(request.path);
    }
    for (const text of texts(Body.parse(jsonBody(request)))) requireOnlyTags(text, /(?!)/g);
    if (Buffer.byteLength(request.body) > 32_000) throw new Error('larger than 32,000 bytes');
  },
  shown(request) {
    const body = Body.parse(jsonBody(request));
    return unescapeHtml([body.cardsV2[0].card.header.title, ...texts(body)].join('\n'));
  },
};
