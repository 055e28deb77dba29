import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { readApiSettings } from '../api/settings.ts';
import { Bridge } from './bridge.ts';

/**
 * `picket mcp`: the MCP server of a service, for clients that start a program. Standard output carries only messages of
 * the protocol.
 *
 * @throws AppError CONFIG_INVALID without a URL or a key.
 */
export async function mcpCommand(
  environment: Readonly<Record<string, string | undefined>>,
  { write = false }: { readonly write?: boolean },
): Promise<void> {
  const settings = await readApiSettings(environment);
  const transport = new StdioServerTransport();
  const bridge = new Bridge(settings, { isWriting: write, send: (message) => transport.send(message) });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  transport.onclose = () => {
    bridge.close();
    resolve();
  };
  transport.onerror = ({ message }) => console.error(`picket mcp: ${message}`);
  transport.onmessage = (message) => {
    bridge.handle(message).catch((thrown: unknown) => console.error('picket mcp:', thrown));
  };
  await transport.start();
  console.error(`picket mcp: tools of ${settings.PICKET_URL}${write ? ', those that write, too' : ''}`);
  await closed;
}
