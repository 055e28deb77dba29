import type { FastifyInstance } from 'fastify';

/**
 * Closing a server ends its idle connections. This also ends those whose response completes later, such as long polls:
 * otherwise they would delay the exit of the process by the keep-alive timeout.
 */
export function endConnectionsOnClose(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onResponse', async () => {
    if (isClosing) setImmediate(() => app.server.closeIdleConnections());
  });
}
