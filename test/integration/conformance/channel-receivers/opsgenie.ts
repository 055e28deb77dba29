import { z } from 'zod';
import { type DocumentedReceiver, jsonBody, textsOf } from './receiver.ts';

const Alert = z.strictObject({
  message: z.string().min(1).max(130),
  alias: z.string().min(1).max(512),
  description: z.string().max(15_000),
  priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']),
  source: z.string().max(100),
  tags: z.array(z.string().max(50)).max(20),
  details: z
    .record(z.string(), z.string())
    .refine(
      (details) => textsOf([details, Object.keys(details)]).join('').length <= 8_000,
      'over 8000 characters',
    ),
});
const End = z.strictObject({ source: z.string().max(100), note: z.string().max(25_000) });

export const receiver: DocumentedReceiver = {
  config: () => ({ apiKey: 'genie' }),
  accepted: { status: 202, body: '{"result": "Request will be processed", "took": 0.1, "requestId": "r"}' },
  incident: (request) =>
    /^\/v2\/alerts\/(.+)\/close/.exec(request.path)?.[1] ?? Alert.parse(jsonBody(request)).alias,
  check(request) {
    if (request.headers.authorization !== 'GenieKey genie') throw new Error('no key');
    const { pathname } = new URL(request.path, 'http://x');
    if (pathname === '/v2/alerts') Alert.parse(jsonBody(request));
    else if (/^\/v2\/alerts\/[^/]+\/close$/.test(pathname)) End.parse(jsonBody(request));
    else throw new Error(request.path);
  },
  shown: (request) => textsOf(jsonBody(request)).join('\n'),
  errors: [
    {
      status: 422,
      body: '{"message": "Request body is not processable", "took": 0.1}',
      reason: 'Request body is not processable',
      isRetryable: false,
    },
  ],
};
