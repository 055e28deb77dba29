import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../helpers/free-port.ts';
import { startPicket } from '../../helpers/picket-process.ts';
import { program, programEnvironment } from '../../helpers/program.ts';
import { connectMcp, listening, textsOf } from '../../helpers/service/mcp/client.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/how-to/ask-through-mcp.md'), 'utf8');
/** The configurations of the page, in order. */
const configurations = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => JSON.parse(text));

let harness: ServiceHarness;
let address: string;
const open: Client[] = [];

beforeAll(async () => {
  harness = await openHarness();
  address = await listening(harness);
});
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});
afterAll(async () => await harness.close());

interface Started {
  readonly args?: readonly string[];
  readonly url?: string;
  readonly key?: string;
  readonly era?: 'legacy' | 'auto';
}

async function start({ args = ['mcp'], url = address, key = harness.key, era = 'auto' }: Started) {
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: era } });
  open.push(client);
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, ...args],
      env: { ...programEnvironment, PICKET_URL: url, PICKET_API_KEY: key },
      stderr: 'ignore',
    }),
  );
  return client;
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe('picket mcp', () => {
  it.each(['legacy', 'auto'] as const)(
    'has the tools of the service, for clients of each revision: %s',
    async (era) => {
      const [own, served] = [await start({ era }), await connectMcp(address, { key: harness.key })];
      expect(await namesOf(own)).toEqual(await namesOf(served));
      const answer = await own.callTool({ name: 'get_account', arguments: {} });
      expect(JSON.parse(textsOf(answer)[0] ?? '')).toMatchObject({ id: harness.accountId });
      // A name that a header cannot contain unencoded.
      const name = 'prüfung — 検査';
      await expect(own.callTool({ name, arguments: {} })).rejects.toThrow(/There is no tool prüfung/);
      await served.close();
    },
  );

  it('--write offers what the key may do', async () => {
    const client = await start({ args: ['mcp', '--write'], key: await harness.addKey('READ_WRITE') });
    const answer = await client.callTool({ name: 'create_silence', arguments: { tags: ['a'], minutes: 5 } });
    expect(answer.isError).toBeUndefined();
    const viewer = await start({ args: ['mcp', '--write'], key: await harness.addKey('READ_ONLY') });
    expect(await namesOf(viewer)).not.toContain('create_silence');
  });

  it('reports a wrong key as text', async () => {
    await expect(start({ key: 'wrong' })).rejects.toThrow(/refused \(401\)/);
  });

  it('reports as text that the server is unreachable, or is not an MCP server', async () => {
    await expect(start({ url: `http://127.0.0.1:${await freePort()}` })).rejects.toThrow(
      /does not respond.*PICKET_URL/,
    );
    const other = createServer((_request, response) => response.end('<html>'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    await expect(start({ url: `http://127.0.0.1:${port}` })).rejects.toThrow(/not an MCP server/);
    other.close();
  });

  it('without a key reports so on standard error and ends with 2', async () => {
    const process = startPicket(['mcp'], { PICKET_URL: address, HOME: '/nonexistent' });
    expect(await process.ended).toMatchObject({ code: 2 });
    expect(process.output()).toContain('PICKET_API_KEY');
  });
});

describe('the configurations of the page', () => {
  it('of clients that start programs connect to the service', async () => {
    const { command, args, env } = configurations[0].mcpServers.picket;
    expect([command, Object.keys(env)]).toEqual(['picket', ['PICKET_URL', 'PICKET_API_KEY']]);
    expect(await namesOf(await start({ args }))).toContain('list_open_alerts');
  });

  it('of clients that speak HTTP do, too', async () => {
    for (const { url, headers } of [configurations[1].mcpServers.picket, configurations[2].servers.picket]) {
      expect(headers.Authorization).toMatch(/^Bearer \S+$/);
      const { pathname } = new URL(url);
      const served = await fetch(new URL(pathname, address), {
        method: 'POST',
        headers: { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
      expect(served.status).toBe(200);
    }
  });
});
