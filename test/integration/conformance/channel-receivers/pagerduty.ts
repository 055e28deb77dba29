import { z } from 'zod';
import { type DocumentedReceiver, jsonBody, textsOf } from './receiver.ts';

const Body = z.strictObject({
  routing_key: z.string().min(1),
  event_action: z.enum(['trigger', 'acknowledge', 'resolve']),
  dedup_key: z.string().min(1).max(255),
  payload: z.strictObject({
    summary: z.string().min(1).max(1024),
    source: z.string().min(1),
    severity: z.enum(['critical', 'error', 'warning', 'info']),
    timestamp: z.iso.datetime(),
    custom_details: z.record(z.string(), z.string()),
  }),
  links: z.array(z.strictObject({ href: z.url(), text: z.string() })).optional(),
});

export const receiver: DocumentedReceiver = {
  config: () => ({ serviceKey: '0123456789abcdef0123456789abcdef' }),
  accepted: { status: 202, body: '{"status": "success", "dedup_key": "k"}' },
  incident: (request) => Body.parse(jsonBody(request)).dedup_key,
  check(request) {
    if (request.path !== '/v2/enqueue') throw new Error(request.path);
    Body.parse(jsonBody(request));
    if (Buffer.byteLength(request.body) > 512 * 1024) throw new Error('larger than 512 kB');
  },
  shown: (request) => textsOf(Body.parse(jsonBody(request)).payload).join('\n'),
  errors: [
    {
      status: 400,
      body: '{"status": "invalid event", "message": "Event object is invalid", "errors": ["Length of \'routing_key\' is incorrect"]}',
      reason: "Event object is invalid: Length of 'routing_key' is incorrect",
      isRetryable: false,
    },
  ],
};
