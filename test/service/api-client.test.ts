import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiError, type Client, createClient } from '../../docs/api-client.ts';
import { type Bench, openBench } from '../helpers/service.ts';

let bench: Bench;
let client: Client;
beforeAll(async () => {
  bench = await openBench();
  await bench.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = bench.app.server.address() as AddressInfo;
  client = createClient({
    baseUrl: `http://127.0.0.1:${port}/`,
    apiKey: bench.key,
    accountId: bench.accountId,
  });
});
afterAll(async () => await bench.close());

it('creates, lists, changes and deletes, with the types of the API', async () => {
  const made = await client.createURLmonitor({
    body: { name: 'a monitor', tags: ['a', 'b'], request: { url: 'https://example.com' } },
  });
  expect(made.name).toBe('a monitor');
  const id: string = made.id;
  expect((await client.updateURLmonitor({ path: { id }, body: { name: 'another' } })).name).toBe('another');
  const listed = await client.listChecks({ query: { tag: ['b', 'c'], limit: 1 } });
  expect(listed.map((check) => check.id)).toEqual([id]);
  expect(await client.listChecks()).toHaveLength(1);
  expect(await client.listStaticIpsText()).toBe('');
  expect(await client.getCheckBadge({ path: { id } })).toContain('<svg');
  expect(await client.deleteCheck({ path: { id } })).toBeUndefined();
});

it('throws what the service said', async () => {
  // @ts-expect-error: a name is required
  const wrong = client.createSnippet({ body: { script: 'x' } });
  const error = await wrong.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ statusCode: 400, body: { validation: { keys: ['name'] } } });
});
