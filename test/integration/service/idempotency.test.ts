import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { heedsKeys } from '../../../src/platform/http/idempotency/idempotency.ts';
import { hashOf } from '../../../src/platform/http/idempotency/sealing.ts';
import { hashKey } from '../../../src/platform/ids/keys.ts';
import { snippetApi } from '../../../src/protocol/checks/snippet.ts';
import { allRoutes } from '../../../src/server/features.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { openHarness, type ServiceHarness, temporaryFolder } from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let clock: ManualClock;
const folder = temporaryFolder();
beforeAll(async () => {
  clock = new ManualClock();
  harness = await openHarness({ clock, folder: folder.path });
});
afterAll(async () => {
  await harness.close();
  folder.remove();
});

const post = (path: string, body: unknown, key: string, credential = harness.key) =>
  harness.call('POST', path, body, { key: credential, headers: { 'idempotency-key': key } });
const snippet = (name: string) => ({ name, script: '// x' });
const countOf = async (name: string) => {
  const { body } = await harness.call('GET', '/v1/snippets?limit=100');
  return (body as { name: string }[]).filter((one) => one.name === name).length;
};

it('answers a repeated request as before, and does nothing twice', async () => {
  const key = randomUUID();
  const first = await post('/v1/snippets', snippet('once'), key);
  expect([first.status, first.headers['idempotent-replayed']]).toEqual([201, undefined]);
  const again = await post('/v1/snippets', snippet('once'), key);
  expect([again.status, again.headers['idempotent-replayed'], again.body]).toEqual([201, 'true', first.body]);
  expect(again.headers['content-type']).toBe(first.headers['content-type']);
  expect(await countOf('once')).toBe(1);
  // Another key, another caller or another operation makes it another request.
  expect((await post('/v1/snippets', snippet('once'), randomUUID())).status).toBe(201);
  expect((await post('/v1/snippets', snippet('once'), key, await harness.addKey('ADMIN'))).status).toBe(201);
  const variable = await post('/v1/variables', { key: 'ONCE', value: 'x' }, key);
  expect(variable.status).toBe(201);
  expect(await countOf('once')).toBe(3);
});

it('refuses a key with another body, and invalid keys', async () => {
  const key = randomUUID();
  await post('/v1/snippets', snippet('one body'), key);
  const other = await post('/v1/snippets', snippet('another body'), key);
  expect(other).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
  expect(await countOf('another body')).toBe(0);
  for (const bad of ['k'.repeat(256), 'two words', '']) {
    expect(await post('/v1/snippets', snippet('bad key'), bad)).toMatchObject({
      status: 400,
      body: { validation: { source: 'headers', keys: ['idempotency-key'] } },
    });
  }
  expect((await post('/v1/snippets', snippet('long key'), 'k'.repeat(255))).status).toBe(201);
});

it('does not keep refused requests', async () => {
  const key = randomUUID();
  expect((await post('/v1/snippets', { name: 'refused' }, key)).status).toBe(400);
  expect((await post('/v1/snippets', snippet('refused'), key)).status).toBe(201);
  const taken = randomUUID();
  await harness.call('POST', '/v1/variables', { key: 'TAKEN', value: 'x' });
  expect((await post('/v1/variables', { key: 'TAKEN', value: 'y' }, taken)).status).toBe(409);
  await harness.call('DELETE', '/v1/variables/TAKEN');
  expect((await post('/v1/variables', { key: 'TAKEN', value: 'y' }, taken)).status).toBe(201);
});

/** Makes the database refuse a kind of statement while `work` runs. */
async function refusing<T>(statement: string, work: () => Promise<T>): Promise<T> {
  const database = new DatabaseSync(join(folder.path, 'picket.sqlite'));
  database.exec(`create trigger refusal before ${statement} begin select raise(abort, 'refused'); end`);
  try {
    return await work();
  } finally {
    database.exec('drop trigger refusal');
    database.close();
  }
}

it('keeps no key of a request that failed and left nothing', async () => {
  const key = randomUUID();
  const failed = await refusing('insert on snippets', () =>
    post('/v1/snippets', snippet('rolled back'), key),
  );
  expect(failed.status).toBe(500);
  expect((await post('/v1/snippets', snippet('rolled back'), key)).status).toBe(201);
  expect(await countOf('rolled back')).toBe(1);
});

it('keeps the key of a request that failed after it had committed something', async () => {
  const { store, accountId } = harness;
  for (let number = 0; number < 51; number += 1) {
    await store.deployments.insert({
      ...{ id: randomUUID(), account_id: accountId, project_logical_id: 'shop', status: 'SUCCEEDED' },
      ...{ request: '{}', caller: '{}', progress: 100, created: number, started: 1, ended: 1 },
      ...{ error_code: null, error_message: null, result: null, worker: null, worker_until: null },
      cancel_requested: null,
    });
  }
  const key = randomUUID();
  const deploy = () =>
    post('/v1/projects/deploy', { project: { logicalId: 'shop', name: 'Shop' }, resources: [] }, key);
  // The new deployment is stored; the request fails because an old one cannot be deleted.
  expect((await refusing('delete on deployments', deploy)).status).toBe(500);
  for (const again of [await deploy(), await deploy()]) {
    expect(again).toMatchObject({
      status: 409,
      body: {
        code: 'IDEMPOTENCY_KEY_IN_USE',
        message: expect.stringContaining('its outcome is unknown'),
      },
    });
    expect(again.headers['retry-after']).toBeUndefined();
  }
});

it('is refused by uploads, which are stored once anyway', async () => {
  const headers = { 'idempotency-key': randomUUID(), 'content-type': 'application/octet-stream' };
  for (const path of ['/v1/code-bundles', '/next/checkly-storage/upload-code-bundle']) {
    expect(await harness.call('POST', path, 'bytes', { headers })).toMatchObject({
      status: 400,
      body: {
        message: expect.stringContaining('has no effect on uploads'),
        validation: { source: 'headers', keys: ['idempotency-key'] },
      },
    });
  }
});

it('executes one of many concurrent requests', async () => {
  const key = randomUUID();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => post('/v1/snippets', snippet('at once'), key)),
  );
  const statuses = new Set(answers.map(({ status }) => status));
  expect(statuses.has(201)).toBe(true);
  for (const { status, body } of answers) {
    if (status !== 201)
      expect([status, (body as { code: string }).code]).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE']);
  }
  expect(await countOf('at once')).toBe(1);
});

it('looks again if the first request is answered between the look and its evaluation', async () => {
  const { storedAnswers } = harness.store;
  const looked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const [find, complete] = [storedAnswers.find, storedAnswers.complete];
  storedAnswers.complete = async (...args) => {
    await looked.promise;
    await complete.apply(storedAnswers, args);
  };
  storedAnswers.find = async (...args) => {
    storedAnswers.find = find;
    const row = await find.apply(storedAnswers, args);
    looked.resolve();
    await answered.promise;
    return row;
  };
  const key = randomUUID();
  const one = post('/v1/snippets', snippet('stale look'), key);
  const other = post('/v1/snippets', snippet('stale look'), key);
  const first = await Promise.race([one, other]);
  answered.resolve();
  storedAnswers.complete = complete;
  expect(first.status).toBe(201);
  expect((await Promise.all([one, other])).map(({ status, body }) => [status, body])).toEqual([
    [201, first.body],
    [201, first.body],
  ]);
});

it('never repeats a request during which a service was killed', async () => {
  const { store } = harness;
  const key = randomUUID();
  const caller = await store.accounts.findKey(hashKey(harness.key));
  const keyHash = hashOf(harness.accountId, String(caller?.id), snippetApi.routes.create.operationId, key);
  const body = snippet('killed');
  const row = {
    key_hash: keyHash,
    account_id: harness.accountId,
    process_id: 'gone',
    created: clock.wallMs(),
  };
  const requestHash = hashOf('/v1/snippets', JSON.stringify(body));
  expect(await store.storedAnswers.reserve({ ...row, request_hash: requestHash }, 0)).toBe(true);
  const answer = await post('/v1/snippets', body, key);
  expect(answer).toMatchObject({
    status: 409,
    body: {
      code: 'IDEMPOTENCY_KEY_IN_USE',
      message: expect.stringContaining('Look whether it was carried out'),
    },
  });
  expect(answer.headers['retry-after']).toBeUndefined();
  expect(await countOf('killed')).toBe(0);
});

it('shows a once-only key again, and stores it nowhere in clear', async () => {
  const key = randomUUID();
  const first = await post('/v1/api-keys', { name: 'robot', role: 'READ_ONLY' }, key);
  expect(first.status).toBe(201);
  const again = await post('/v1/api-keys', { name: 'robot', role: 'READ_ONLY' }, key);
  expect(again.body).toEqual(first.body);
  const raw = JSON.stringify(first.body).match(/"(?:rawKey|key)":"([^"]+)"/)?.[1] ?? '';
  expect(raw.length).toBeGreaterThan(20);
  for (const file of readdirSync(folder.path).filter((name) => name.startsWith('picket.sqlite'))) {
    const bytes = readFileSync(join(folder.path, file));
    expect([file, bytes.includes(raw), bytes.includes(key)]).toEqual([file, false, false]);
  }
});

it('forgets responses after a day', async () => {
  const key = randomUUID();
  await post('/v1/snippets', snippet('daily'), key);
  clock.advance(23 * 3_600_000);
  expect((await post('/v1/snippets', snippet('daily'), key)).headers['idempotent-replayed']).toBe('true');
  clock.advance(2 * 3_600_000);
  expect((await post('/v1/snippets', snippet('daily'), key)).status).toBe(201);
  expect(await countOf('daily')).toBe(2);
  clock.advance(25 * 3_600_000);
  expect(await harness.store.storedAnswers.prune(clock.wallMs() - 24 * 3_600_000, 1000)).toBe(false);
  expect(await harness.store.storedAnswers.prune(clock.wallMs(), 1000)).toBe(false);
});

it('is documented at every operation that supports it', async () => {
  const { body } = await harness.call('GET', '/v1/openapi.json');
  const { paths } = body as { paths: Record<string, { post?: { parameters: { name: string }[] } }> };
  const heeding = allRoutes.filter(heedsKeys);
  expect(heeding.length).toBeGreaterThan(40);
  for (const { path } of heeding) {
    expect(paths[path]?.post?.parameters.map(({ name }) => name)).toContain('Idempotency-Key');
  }
});

it('lets a command be repeated after a lost response', async () => {
  const address = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  let calls = 0;
  const between = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { authorization = '', 'idempotency-key': key = '' } = request.headers;
      const answer = await fetch(address + request.url, {
        method: 'POST',
        headers: { authorization, 'idempotency-key': String(key), 'content-type': 'application/json' },
        body: Buffer.concat(chunks),
      });
      const text = await answer.text();
      calls += 1;
      if (calls === 1) request.socket.destroy();
      else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
    })();
  });
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  const { port } = between.address() as { port: number };
  const client = new ApiClient({ PICKET_URL: `http://127.0.0.1:${port}`, PICKET_API_KEY: harness.key });
  await client.call(snippetApi.routes.create, { body: snippet('by command') });
  expect([calls, await countOf('by command')]).toEqual([2, 1]);
  await new Promise((resolve) => between.close(resolve));
});
