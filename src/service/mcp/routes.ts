import { AppError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ToolUse } from '@picket/mcp/exchange.ts';
import { type AnyHandler, baseUrlOf, handlersById } from '@picket/platform/feature/handler.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { mcpRoutes } from '@picket/protocol/mcp/mcp.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceMetrics } from '../metrics/metrics.ts';
import { callsAs } from './calls.ts';

/** on: clients that request write tools get them; read-only: no client does. */
export type McpMode = 'on' | 'read-only' | 'off';

export interface McpDeps {
  /** Every operation of the API. */
  readonly routes: readonly Route[];
  readonly logger: Logger;
  readonly metrics: ServiceMetrics;
  readonly publicUrl?: string | undefined;
  /** Absent: on. */
  readonly mcp?: McpMode | undefined;
}

/** Route by which programs with a language model use the API. */
export function mcpHandlers(deps: McpDeps): [string, AnyHandler][] {
  const { mcp = 'on', logger, metrics } = deps;
  // The library and the tools are loaded on first use.
  let parts: ReturnType<typeof load> | undefined;
  return handlersById(mcpRoutes, {
    async callMcp({ caller, query, body, request, reply }) {
      if (mcp === 'off') throw new AppError('NOT_FOUND', 'The MCP server of this service is off (MCP=off).');
      refuseOrigin(request, deps.publicUrl);
      if (query.write && mcp === 'read-only') {
        throw new AppError('MCP_READ_ONLY', 'This service offers only tools that read: leave out "write".');
      }
      parts ??= load(deps.routes);
      const { exchange, toolbox, resources } = await parts;
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const onUse = ({ tool, outcome }: ToolUse) => {
        metrics.countMcpCall(caller.accountId, tool, outcome);
        const { accountId, actor } = caller;
        logger.info({ requestId: request.id, tool, outcome, accountId, keyId: actor.id }, 'tool called');
      };
      const user = { caller, wantsToWrite: query.write, call: callsAs(request, caller, gone.signal) };
      const answer = await exchange(webRequest(request, deps.publicUrl, gone.signal), body, {
        ...{ toolbox, resources, user, onUse },
      });
      return send(answer, reply);
    },
  });
}

async function load(routes: readonly Route[]) {
  const [{ exchange }, { Toolbox }, { Resources }] = await Promise.all([
    import('@picket/mcp/exchange.ts'),
    import('@picket/mcp/toolbox.ts'),
    import('@picket/mcp/resources.ts'),
  ]);
  return { exchange, toolbox: new Toolbox(routes), resources: new Resources(routes) };
}

/**
 * Rejects requests from pages of other sites through a browser, even under a name that resolves to this service (DNS
 * rebinding). Browsers send the origin of a page; other programs send no such header.
 *
 * @throws AppError FOREIGN_ORIGIN
 */
function refuseOrigin({ headers: { origin } }: FastifyRequest, publicUrl: string | undefined): void {
  if (origin === undefined || (publicUrl !== undefined && origin === new URL(publicUrl).origin)) return;
  throw new AppError(
    'FOREIGN_ORIGIN',
    `Pages of ${origin.slice(0, 200)} are not allowed to use the MCP server.`,
  );
}

function webRequest(request: FastifyRequest, publicUrl: string | undefined, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && name !== 'authorization') headers.set(name, String(value));
  }
  // The response is JSON, whatever else the client accepts.
  headers.set('accept', 'application/json, text/event-stream');
  return new Request(new URL('/mcp', `${baseUrlOf(request, publicUrl)}/`), {
    method: 'POST',
    headers,
    signal,
  });
}

async function send(answer: Response, reply: FastifyReply): Promise<never> {
  const text = await answer.text();
  const contentType = answer.headers.get('content-type');
  if (contentType !== null) reply.type(contentType);
  await reply.code(answer.status).send(text);
  return undefined as never;
}
