import { Readable } from 'node:stream';
import { defineRoute, successful } from '@picket/protocol/http/route.ts';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { requestOfJob } from '../feature/exchange.ts';
import type { AnyHandler, Call } from '../feature/handler.ts';
import { describePage } from '../http/paging.ts';
import { Operations } from './operations.ts';

const common = { tag: 'things', credential: 'account', summary: 'things', path: '/v1/things' } as const;
const list = defineRoute({
  ...{ ...common, method: 'GET', operationId: 'listThings', success: successful },
  query: z.object({ limit: z.int().default(2), page: z.int().default(1) }),
  response: z.array(z.string()),
});
const make = defineRoute({
  ...{ ...common, method: 'POST', operationId: 'makeThing', success: { statusCode: 201, label: 'Created' } },
  ...{ params: z.object({ id: z.string() }), body: z.object({ name: z.string() }) },
  response: z.object({ id: z.string(), name: z.string() }),
});
const file = defineRoute({
  ...{ ...common, method: 'GET', operationId: 'getFile', success: successful, isResponseRaw: true },
});
const upload = defineRoute({
  ...{ ...common, method: 'PUT', operationId: 'putFile', success: successful, isBodyRaw: true },
});

const handlers = new Map<string, AnyHandler>([
  [
    list.operationId,
    async ({ query, request, reply }) => {
      describePage(request, reply, { query: query as never, total: 5 });
      return ['a', 'b'];
    },
  ],
  [make.operationId, async ({ params, body }: Call) => ({ ...Object(params), ...Object(body) })],
  [
    file.operationId,
    async ({ reply }) => {
      reply.code(206).headers({ 'content-type': 'text/plain', 'content-length': 1 });
      await reply.send(Readable.from(['x']));
    },
  ],
  [upload.operationId, async () => undefined],
]);
const as = (role: 'READ_ONLY' | 'READ_WRITE') =>
  new Operations({
    ...{ handlers, request: requestOfJob('192.0.2.1') },
    caller: { accountId: 'a', role, actor: { kind: 'API_KEY', id: 'k', name: 'key' } },
  });

it('returns the body, the status and the headers that HTTP would have', async () => {
  expect(await as('READ_ONLY').list(list, {})).toEqual({ entries: ['a', 'b'], total: 5 });
  const input = { params: { id: '0A0C5E62-2FEC-4D1B-8D8A-6D1F2B3C4D5E' }, body: { name: 'n' } };
  expect(await as('READ_WRITE').answer(make, input)).toEqual({
    status: 201,
    headers: {},
    body: { id: '0a0c5e62-2fec-4d1b-8d8a-6d1f2b3c4d5e', name: 'n' },
  });
  const sent = await as('READ_ONLY').answer(file, {});
  expect([sent.status, sent.headers['content-type']]).toEqual([206, 'text/plain']);
  expect(await (sent.body as Readable).toArray()).toEqual(['x']);
});

it('refuses what the API refuses', async () => {
  const refusal = (work: Promise<unknown>) => work.catch((thrown: unknown) => thrown);
  const params = { id: 'i' };
  expect(await refusal(as('READ_ONLY').call(make, { params, body: { name: 'n' } }))).toMatchObject({
    code: 'READ_ONLY_KEY',
  });
  for (const [body, key] of [
    [{ name: 'n', nme: 'n' }, 'nme'],
    [{ name: ' ' }, 'name'],
    [{ name: '\u0000' }, 'name'],
    [{ name: 7 }, 'name'],
  ] as const) {
    expect(await refusal(as('READ_WRITE').answer(make, { params, body }))).toMatchObject({
      code: 'VALIDATION_FAILED',
      validation: { source: 'payload', keys: [key] },
    });
  }
  expect(await refusal(as('READ_WRITE').answer(make, { params }))).toMatchObject({ code: 'MALFORMED_BODY' });
});

it('has no operations that need a connection', async () => {
  await expect(as('READ_WRITE').answer(upload, {})).rejects.toThrow('works on a connection');
});
