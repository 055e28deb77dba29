import type { Logger } from '@picket/lib/log.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountCaller } from '../ids/callers.ts';

/**
 * Logs each request, and each write of an account again with its actor, object and outcome. Logs the table's paths,
 * because real ones contain tokens. Requests of agents are frequent and logged for diagnosis only.
 */
export function logRequest(logger: Logger, route: Route, request: FastifyRequest, reply: FastifyReply): void {
  const { caller } = request;
  // Undefined if authentication refused the request.
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

/** Logs a write of an account, from the API or a page. */
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
