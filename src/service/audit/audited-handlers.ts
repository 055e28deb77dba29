import { randomUUID } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { CallRequest } from '@picket/platform/feature/exchange.ts';
import type { AnyHandler, Call } from '@picket/platform/feature/handler.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import { unwatched } from '@picket/platform/store/commits.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { z } from 'zod';
import { type Changes, changesOf, keptAnswer, noChanges } from './changes.ts';
import { resourceName, type Subject, subjectOf, valuesFor } from './resources.ts';
import type { AuditRow } from './tables.ts';

interface AuditDeps {
  readonly store: Pick<Store, 'audit'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Values = Readonly<Record<string, unknown>>;

/** A call of an operation that writes to an account. */
interface WriteCall {
  readonly caller: AccountCaller;
  readonly params: Values | undefined;
  readonly body: unknown;
  readonly request: Pick<CallRequest, 'ip'>;
}

/**
 * Wraps the handlers of all operations so that each write leaves a row in the audit log. The API and the pages share
 * these handlers, so neither can bypass it.
 *
 * A row is written before the write, with the outcome UNKNOWN, and completed after it: if the service is killed in
 * between, the row says so, and no write is unlogged. A rejected write changed nothing, and its row is deleted. The
 * changes are the difference between two responses of the operation that shows the resource (`resources.ts`), called as
 * a read-only user: what such a user cannot see is not in the log either. Only those operations define which values are
 * secret.
 */
export function auditedHandlers(
  handlers: ReadonlyMap<string, AnyHandler>,
  routes: readonly Route[],
  deps: AuditDeps,
): ReadonlyMap<string, AnyHandler> {
  const audited = new Map(handlers);
  for (const route of routes) {
    const handler = handlers.get(route.operationId);
    if (!handler || route.credential !== 'account' || route.method === 'GET' || route.isReadOnly) continue;
    audited.set(route.operationId, auditedHandler(route, handler, { ...deps, handlers, routes }));
  }
  return audited;
}

function auditedHandler(
  route: Route,
  handler: AnyHandler,
  deps: AuditDeps & {
    readonly handlers: ReadonlyMap<string, AnyHandler>;
    readonly routes: readonly Route[];
  },
): AnyHandler {
  const { store, clock, logger } = deps;
  const subject = subjectOf(route, deps.routes);
  const reader = subject.read && deps.handlers.get(subject.read.operationId);
  return async (anyCall) => {
    const call = anyCall as unknown as WriteCall;
    const { caller, request } = call;
    if (isDry(anyCall)) return handler(anyCall);
    const view = async (values: Values | null) =>
      reader && values ? viewOf(subject, reader, anyCall, values) : null;
    const known = valuesFor(subject, call.params ?? {});
    const before = await view(known);
    const row: AuditRow = {
      ...auditRow(clock.wallMs()),
      account_id: caller.accountId,
      actor_kind: caller.actor.kind,
      actor_id: caller.actor.id,
      actor_name: caller.actor.name,
      address: request.ip,
      operation: route.operationId,
      resource: resourceName(subject, known),
      resource_name: nameOf(before),
      for_admins: route.isAdmin ? 1 : 0,
    };
    // The row must exist whatever happens to the write.
    await unwatched(() => store.audit.insert(row));
    let answer: unknown;
    try {
      answer = await handler(anyCall);
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.statusCode < 500) {
        // In a transaction that will be rolled back the row cannot be deleted, and need not be.
        await unwatched(() => store.audit.remove(row.id)).catch((failed: unknown) => {
          logger.debug({ err: failed, auditId: row.id }, 'audit row not removed');
        });
      }
      throw thrown;
    }
    try {
      const values = known ?? valuesFor(subject, call.params ?? {}, isRecord(answer) ? answer : {});
      const after = await view(values);
      const changes =
        before || after
          ? changesOf(before, after, call.body)
          : { ...noChanges, after: madeBy(route, answer) };
      await store.audit.complete(row.id, {
        outcome: 'DONE',
        resource: resourceName(subject, values),
        resource_name: nameOf(after) ?? row.resource_name,
        changes: JSON.stringify(changes),
      });
    } catch (thrown) {
      // The write succeeded, so its caller must not get an error.
      logger.error({ err: thrown, auditId: row.id, operation: route.operationId }, 'audit row not completed');
    }
    return answer;
  };
}

/** Whether a call is a dry run. */
function isDry(call: Call): boolean {
  const query: unknown = call.query;
  return isRecord(query) && query.dryRun === true;
}

/** The response of an operation whose result no other operation shows. */
function madeBy({ response }: Route, answer: unknown): Changes['after'] {
  return response && answer !== undefined ? keptAnswer(z.encode(response, answer)) : null;
}

/** Response of the operation that shows the subject, as a reader sees it; null if it cannot be shown. */
async function viewOf(
  { read }: Subject,
  reader: AnyHandler,
  call: Call,
  values: Values,
): Promise<Values | null> {
  if (!read?.response) return null;
  const caller = { ...(call.caller as unknown as AccountCaller), role: 'READ_ONLY' as const };
  try {
    const query = read.query?.safeParse({}).data;
    const answer = await reader({
      ...call,
      caller,
      query,
      params: values,
      body: undefined,
    } as unknown as Call);
    const shown = z.safeEncode(read.response, answer);
    return shown.success && isRecord(shown.data) ? shown.data : null;
  } catch (thrown) {
    // A subject that cannot be shown does not exist, or not yet: the write itself reports what is wrong.
    if (thrown instanceof AppError && thrown.statusCode < 500) return null;
    throw thrown;
  }
}

/** An audit row with default values. */
export function auditRow(now: number): AuditRow {
  return {
    id: randomUUID(),
    account_id: null,
    created: now,
    actor_kind: 'NOBODY',
    actor_id: null,
    actor_name: '',
    address: null,
    operation: '',
    resource: null,
    resource_name: null,
    outcome: 'UNKNOWN',
    changes: JSON.stringify(noChanges),
    for_admins: 1,
  };
}

/** Display name of a resource. */
function nameOf(view: Values | null): string | null {
  for (const field of ['name', 'header', 'key', 'host', 'email']) {
    const value = view?.[field];
    if (typeof value === 'string' && value !== '') return value.slice(0, 300).toWellFormed();
  }
  return null;
}
