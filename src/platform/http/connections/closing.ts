import type { FastifyInstance } from 'fastify';

/**
 * A server that closes ends connections that are idle at that moment. Those whose answer ends later, such as polls that wait, are ended
 * with it: they would hold up the end of the process for as long as idle connections are kept.
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
