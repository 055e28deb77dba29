import type { Feature } from '@picket/platform/feature/feature.ts';
import { mcpRoutes } from '@picket/protocol/mcp/mcp.ts';
import { type McpMode, mcpHandlers } from './routes.ts';

export const mcp: Feature = {
  name: 'mcp',
  parts: { mcp: ({ config }) => config.MCP },
  routes: Object.values(mcpRoutes),
  handlers: mcpHandlers,
};

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Whether programs with a language model may use the API; undefined: on. */
    readonly mcp: McpMode | undefined;
  }
}
