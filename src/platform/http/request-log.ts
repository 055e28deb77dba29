import type { Logger } from '@picket/lib/log.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountCaller } from '../ids/callers.ts';

/**
 * A line for each request, and one more for each write of an account: who did what to which object, and how
 * it ended. Paths are those of the table, because tokens stand in real ones. Agents call all the time: their
 * requests are for diagnosis only.
 */
export function logRequest(logger: Logger, route: Route, request: FastifyRequest, reply: FastifyReply): void {
  const { caller } = request;
  // Undefined where authentication refused the request.
  const account = caller?.kind === 'account' ? caller.account : undefined;
  const who = account ? callerFields(account) : {};
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
  if (account)
    logAudit(logger, route, { account, request, object: request.params, status: reply.statusCode });
}

/** A line for a write of an account, whether it came over the API or from a page. */
export function logAudit(
  logger: Logger,
  route: Route,
  write: {
    readonly account: AccountCaller;
    readonly request: { readonly ip: string; readonly id?: string };
    readonly object: unknown;
    readonly status: number;
  },
): void {
  if (route.method === 'GET' || route.isReadOnly) return;
  const { account, request, object, status } = write;
  logger.info(
    {
      requestId: request.id,
      operation: route.operationId,
      object,
      status,
      role: account.role,
      address: request.ip,
      ...callerFields(account),
    },
    'audit',
  );
}

function callerFields({ accountId, actor }: AccountCaller): Readonly<Record<string, string>> {
  return { accountId, [actor.kind === 'MEMBER' ? 'memberId' : 'keyId']: actor.id };
}
