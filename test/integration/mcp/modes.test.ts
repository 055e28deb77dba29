import { afterEach, describe, expect, it } from 'vitest';
import { connectMcp, listening, textsOf } from '../../helpers/service/mcp/client.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness | undefined;
afterEach(async () => {
  await harness?.close();
  harness = undefined;
});

describe('the setting MCP', () => {
  it('off: disabled', async () => {
    harness = await openHarness({ mcp: 'off' });
    const { status, body } = await harness.call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' });
    expect([status, body.message]).toEqual([404, expect.stringContaining('MCP=off')]);
  });

  it('read-only: tools that change something are not offered', async () => {
    harness = await openHarness({ mcp: 'read-only' });
    const address = await listening(harness);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const { status, body } = await harness.call('POST', '/mcp?write=true', ping);
    expect([status, body.message]).toEqual([403, expect.stringContaining('leave out "write"')]);
    const client = await connectMcp(address, { key: harness.key });
    expect((await client.listTools()).tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
    await client.close();
  });
});

describe('rate limits', () => {
  it('of the API apply to calls of tools, with a message that says when to retry', async () => {
    harness = await openHarness({ requestsPerMinute: 3 });
    const client = await connectMcp(await listening(harness), { key: harness.key });
    const texts: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      texts.push(textsOf(await client.callTool({ name: 'get_account', arguments: {} }))[0] ?? '');
    }
    expect(texts.filter((text) => text.startsWith('Refused'))).toEqual([
      expect.stringMatching(/Refused \(429\): Too many requests.*Try again in \d+ seconds/),
    ]);
    await client.close();
  });
});
