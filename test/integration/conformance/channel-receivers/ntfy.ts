import { z } from 'zod';
import { type DocumentedReceiver, jsonBody } from './receiver.ts';

const bytes = (max: number) =>
  z.string().refine((text) => Buffer.byteLength(text) <= max, `over ${max} bytes`);
const Body = z.strictObject({
  topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/),
  title: bytes(256),
  // A longer message would become an attachment.
  message: bytes(4096),
  priority: z.int().min(1).max(5),
  tags: z.array(z.string()),
  click: z.url().optional(),
});

export const receiver: DocumentedReceiver = {
  config: (url) => ({ url, topic: 'ops_1-a', token: 'tk_secret' }),
  accepted: { status: 200, body: '{"id": "1"}' },
  check(request) {
    if (request.path !== '/') throw new Error(request.path);
    if (request.headers.authorization !== 'Bearer tk_secret') throw new Error('no token');
    Body.parse(jsonBody(request));
    // The server reads at most twice the message limit of JSON.
    if (Buffer.byteLength(request.body) > 8192) throw new Error('larger than 8192 bytes');
  },
  shown(request) {
    const { title, message } = Body.parse(jsonBody(request));
    return `${title}\n${message}`;
  },
};
