import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ServiceHarness } from '../service.ts';

export interface McpOptions {
  readonly key: string;
  readonly query?: string;
  /** Clients of the protocol's revisions before 2026 open with a handshake. */
  readonly era?: 'legacy' | 'auto';
}

/** A real client of the Model Context Protocol at a service. */
export async function connectMcp(
  address: string,
  { key, query = '', era = 'auto' }: McpOptions,
): Promise<Client> {
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: era } });
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`/mcp${query}`, address), { requestInit: { headers } }),
  );
  return client;
}

/** Where a harness listens, from now on. */
export async function listening(harness: ServiceHarness): Promise<string> {
  return harness.app.listen({ port: 0, host: '127.0.0.1' });
}

/** The texts that a tool answered with. */
export function textsOf(answer: { readonly content: readonly unknown[] }): string[] {
  return answer.content.map((block) => (block as { readonly text?: string }).text ?? '');
}
