import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ServiceHarness } from '../service.ts';

export interface McpOptions {
  readonly key: string;
  readonly query?: string;
  /** Clients of protocol revisions before 2026 start with a handshake. */
  readonly era?: 'legacy' | 'auto';
}

/** A real Model Context Protocol client of a service. */
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

/** Starts listening. Returns the harness's address. */
export async function listening(harness: ServiceHarness): Promise<string> {
  return harness.app.listen({ port: 0, host: '127.0.0.1' });
}

/** The texts in a tool's response. */
export function textsOf(answer: { readonly content: readonly unknown[] }): string[] {
  return answer.content.map((block) => (block as { readonly text?: string }).text ?? '');
}
