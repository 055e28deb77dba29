import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../lib/log.ts';
import type { Route } from '../../protocol/http/route.ts';

/**
 * A line for each request, and one more for each write of an account: who did what to which object, and how
 * it ended. Paths are those of the table, because tokens stand in real ones. Agents call all the time: their
 * requests are for diagnosis only.
 */
export function logRequest(logger: Logger, route: Route, request: FastifyRequest, reply: FastifyReply): void {
  const { caller } = request;
  // Undefined where authentication refused the request.
  const account = caller?.kind === 'account' ? caller.account : undefined;
  const who = account ? { accountId: account.accountId, keyId: account.keyId } : {};
  const line = {
    requestId: request.id,
    method: route.method,
    path: route.path,
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime),
    ...who,
  };
  if (route.credential === 'location') logger.debug(line, 'request');
  else logger.info(line, 'request');
  if (!account || route.method === 'GET' || route.isReadOnly) return;
  logger.info(
    {
      requestId: request.id,
      operation: route.operationId,
      object: request.params,
      status: reply.statusCode,
      role: account.role,
      address: request.ip,
      ...who,
    },
    'audit',
  );
}
