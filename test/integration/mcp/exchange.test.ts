import { once } from 'node:events';
import { connect } from 'node:net';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectMcp, listening, textsOf } from '../../helpers/service/mcp/client.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let address: string;

beforeAll(async () => {
  harness = await openHarness({ publicUrl: 'https://picket.example.com' });
  address = await listening(harness);
});
afterAll(async () => await harness.close());

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};
const post = (body: unknown, headers: Record<string, string> = {}, path = '/mcp') =>
  fetch(address + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const callOf = (name: string, args: unknown) => ({
  ...{ jsonrpc: '2.0', id: 2, method: 'tools/call' },
  params: { name, arguments: args },
});

describe('messages', () => {
  it.each(['legacy', 'auto'] as const)('of clients of every revision are answered: %s', async (era) => {
    const client = await connectMcp(address, { key: harness.key, era });
    expect(client.getServerVersion()).toMatchObject({ name: 'picket' });
    expect(client.getInstructions()).toContain('list_open_alerts');
    const answer = await client.callTool({ name: 'get_account', arguments: {} });
    expect(JSON.parse(textsOf(answer)[0] ?? '')).toMatchObject({ id: harness.accountId });
    await client.close();
  });

  it('need a key, one of its accounts, and no handshake before them', async () => {
    expect((await post(initialize, { authorization: '' })).status).toBe(401);
    const foreign = { 'x-service-account': crypto.randomUUID() };
    expect((await post(initialize, foreign)).status).toBe(403);
    const answer = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(answer.headers.get('mcp-session-id')).toBeNull();
  });

  it.each([
    ['GET', 405],
    ['DELETE', 405],
  ])('are accepted by POST only: %s', async (method, status) => {
    const headers = { authorization: `Bearer ${harness.key}`, accept: 'text/event-stream' };
    expect((await fetch(`${address}/mcp`, { method, headers })).status).toBe(status);
  });

  it.each([
    ['no JSON', '{"jsonrpc": ', 400],
    ['a list of messages', [initialize], 400],
    ['another version of JSON-RPC', { ...initialize, jsonrpc: '1.0' }, 400],
    ['too large', { ...initialize, params: { text: 'x'.repeat(1_100_000) } }, 413],
    ['a NUL', { ...initialize, params: { text: '\u0000' } }, 400],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, 202],
    ['an answer that nobody waits for', { jsonrpc: '2.0', id: 1, result: {} }, 202],
  ])('of a wrong form are refused, others are accepted: %s', async (_what, body, status) => {
    expect((await post(body)).status).toBe(status);
  });

  it.each([
    ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'tools/guess' }, -32601],
    ['an unknown tool', callOf('drop_database', {}), -32602],
    ['a name of the prototype', callOf('__proto__', {}), -32602],
    ['arguments that are none', callOf('get_check', 7), -32602],
  ])('get errors of the protocol: %s', async (_what, body, code) => {
    expect(await (await post(body)).json()).toMatchObject({ error: { code } });
  });

  it.each([
    ['get_check', {}, '"checkId" is required.'],
    ['get_check', { checkId: 'x' }, 'Refused (400): "id" must be a valid uuid'],
    ['get_check', { checkId: crypto.randomUUID() }, 'Refused (404): There is no check'],
    ['get_check', { checkId: '..' }, 'made of dots'],
    ['get_check', { check: 'x' }, '"check" is not an argument of get_check. It takes: checkId'],
    ['list_checks', { limit: 1000 }, 'Refused (400): "limit" must be at most 100'],
    ['list_checks', { tag: { a: 1 } }, '"tag" must be a text'],
    ['list_checks', { cursor: 'x' }, '"cursor" must be the cursor'],
    ['get_check_analytics', { checkId: 'x', checkType: 'FAX' }, '"checkType" must be one of'],
  ])('get the problem of the operation as text: %s %j', async (name, args, words) => {
    const { result } = (await (await post(callOf(name, args))).json()) as {
      result: { isError: boolean; content: { text: string }[] };
    };
    expect([result.isError, result.content[0]?.text]).toEqual([true, expect.stringContaining(words)]);
  });

  it('are refused from pages of other sites, also under a name that resolves to this host', async () => {
    const origins = ['https://evil.example', 'http://rebound.example', 'null'];
    for (const origin of origins) expect((await post(initialize, { origin })).status).toBe(403);
    expect((await post(initialize, { origin: 'https://picket.example.com' })).status).toBe(200);
  });

  it('open no streams', async () => {
    const client = await connectMcp(address, { key: harness.key });
    await expect(client.listen({ toolsListChanged: true })).rejects.toThrow();
    await client.close();
  });

  it('of hundreds of clients at once leave nothing behind', async () => {
    // The most connections that the system queues for a busy process: it would refuse more by itself.
    const dispatcher = new Agent({ connections: 400 });
    const headers = { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' };
    const answers = await Promise.all(
      Array.from({ length: 1000 }, async (_, index) => {
        const body = JSON.stringify({ ...initialize, id: index });
        const answer = await request(`${address}/mcp`, { method: 'POST', dispatcher, headers, body });
        return ((await answer.body.json()) as { id: number }).id === index;
      }),
    );
    await dispatcher.close();
    expect(answers.every(Boolean)).toBe(true);
    const { body } = await harness.call('GET', '/-/readiness', undefined, { key: null });
    expect(body).toEqual({ status: 'ready' });
  });

  it('of clients that disconnect are abandoned', async () => {
    await new TestAgent(harness, await createLocation(harness, 'lab')).claim();
    const { id } = await createCheck(harness, { privateLocations: ['lab'] });
    const { body } = await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: id } });
    const sessionId = body.sessions[0].checkSessionId;
    const gone = new AbortController();
    const arrived = once(harness.app.server, 'request');
    const waiting = fetch(`${address}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(
        callOf('wait_for_check_session', { checkSessionId: sessionId, maxWaitSeconds: 30 }),
      ),
      signal: gone.signal,
    });
    await arrived;
    gone.abort();
    await expect(waiting).rejects.toThrow();
    const half = connect(Number(new URL(address).port), '127.0.0.1');
    half.write(
      `POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${harness.key}\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"jsonrpc"`,
    );
    half.destroy();
    expect((await post(initialize)).status).toBe(200);
  });
});

describe('metrics and log', () => {
  it('count calls by tool and outcome, unknown names as one', async () => {
    await post(callOf('list_silences', {}));
    await post(callOf('list_silences', { limit: 0 }));
    await post(callOf('x'.repeat(50), {}));
    const { body } = await harness.call('GET', '/metrics');
    const account = `account="${harness.accountId}"`;
    expect(body).toContain(`picket_mcp_calls_total{${account},tool="list_silences",outcome="done"} 1`);
    expect(body).toContain(`picket_mcp_calls_total{${account},tool="list_silences",outcome="refused"} 1`);
    expect(body).toMatch(/picket_mcp_calls_total\{[^}]*tool="unknown",outcome="refused"\} \d+/);
    expect(body).not.toContain('xxxxx');
  });
});
