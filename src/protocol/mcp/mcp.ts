import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { QueryBoolean } from '../http/query.ts';
import { accepted, defineRoutes } from '../http/route.ts';

const jsonrpc = z.literal('2.0');
const id = z.union([z.string().max(200), z.int()]);

/** A JSON-RPC 2.0 message. The Model Context Protocol defines the content of each method. */
const RpcMessage = lazySchema(() =>
  z
    .union([
      z.object({
        jsonrpc,
        id: id.optional().describe('Absent in notifications'),
        method: z.string().max(200),
        params: z.looseObject({}).optional(),
      }),
      // Clients may send responses without a request; they are ignored.
      z.object({ jsonrpc, id, result: z.looseObject({}) }),
      z.object({ jsonrpc, id, error: z.looseObject({ code: z.int(), message: z.string().max(10_000) }) }),
    ])
    .meta({ id: 'RpcMessage' }),
);

/** The Model Context Protocol: operations of this API as tools of programs that use a language model. */
export const mcpRoutes = defineRoutes('Model Context Protocol', 'account', {
  callMcp: {
    method: 'POST',
    path: '/mcp',
    summary:
      'Operations of this API as tools for language models: one message of the Model Context Protocol (streamable HTTP, no sessions)',
    // A writing tool is authorized as the operation that it calls.
    isReadOnly: true,
    isOnConnection: true,
    otherErrors: [404],
    // A tool call counts as the operation that it calls; this limits all messages.
    rateLimit: { requests: 600, windowSeconds: 60 },
    query: lazySchema(() =>
      z.object({
        write: QueryBoolean.default(false).describe('Also offer tools that change something or run checks'),
      }),
    ),
    body: RpcMessage,
    // Notifications get no response.
    otherSuccess: { ...accepted, isEmpty: true },
    response: z.looseObject({ jsonrpc }).meta({ id: 'RpcAnswer' }),
  },
});
