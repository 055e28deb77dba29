import { z } from 'zod';
import { type DocumentedReceiver, jsonBody } from './receiver.ts';

const Body = z.strictObject({
  title: z.string().min(1),
  description: z.string(),
  deduplication_key: z.string().min(1),
  status: z.enum(['firing', 'resolved']),
  metadata: z.record(z.string(), z.unknown()),
  source_url: z.url().optional(),
});

export const receiver: DocumentedReceiver = {
  config: (url) => ({ url: `${url}/v2/alert_events/http/01GW`, token: 'some-random-string' }),
  accepted: {
    status: 202,
    body: '{"deduplication_key": "k", "message": "Event accepted for processing", "status": "success"}',
  },
  incident: (request) => Body.parse(jsonBody(request)).deduplication_key,
  check(request) {
    if (request.path !== '/v2/alert_events/http/01GW') throw new Error(request.path);
    if (request.headers.authorization !== 'Bearer some-random-string') throw new Error('no token');
    const { description } = Body.parse(jsonBody(request));
    const bare = description.replaceAll(/^\*\*[\w ]+\*\*: /gm, '').replaceAll(/\\[!-/:-@[-`{-~]/g, '');
    if (/[*_`[\]<>#]/.test(bare)) throw new Error(`markup in ${bare}`);
  },
  shown(request) {
    const { title, description } = Body.parse(jsonBody(request));
    return `${title}\n${description.replaceAll(/\*\*([\w ]+)\*\*: /g, '$1: ').replaceAll(/\\([!-/:-@[-`{-~])/g, '$1')}`;
  },
};
