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

/** A call of a write of an account. */
interface WriteCall {
  readonly caller: AccountCaller;
  readonly params: Values | undefined;
  readonly body: unknown;
  readonly request: Pick<CallRequest, 'ip'>;
}

/**
 * The handlers of all operations; those that write leave a row in the audit log. The API and the pages have
 * these same handlers, so neither can forget it.
 *
 * A row is written before the write, with the outcome UNKNOWN, and completed after it: a service that is
 * killed in between leaves a row that says so, and no write is without one. A write that was refused changed
 * nothing, and its row goes again. What changed is the difference between two answers of the operation that
 * shows the resource (`resources.ts`), asked as somebody who may only read: what that person would not see is
 * not in the log either. Which values are secret is known to those operations, and written down nowhere else.
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
    // It is there whatever becomes of the write.
    await unwatched(() => store.audit.insert(row));
    let answer: unknown;
    try {
      answer = await handler(anyCall);
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.statusCode < 500) {
        // Within a transaction that is to be rolled back nothing can be removed, and nothing needs to be.
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
      // The write is done: its caller must not be answered that it is not.
      logger.error({ err: thrown, auditId: row.id, operation: route.operationId }, 'audit row not completed');
    }
    return answer;
  };
}

/** Whether a call only asks what would change. */
function isDry(call: Call): boolean {
  const query: unknown = call.query;
  return isRecord(query) && query.dryRun === true;
}

/** What an operation that nothing shows again answered with. */
function madeBy({ response }: Route, answer: unknown): Changes['after'] {
  return response && answer !== undefined ? keptAnswer(z.encode(response, answer)) : null;
}

/** What the operation that shows the subject answers to a reader; null when there is nothing to show. */
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
    // What cannot be shown is not there, or not yet: the write itself says what is wrong with it.
    if (thrown instanceof AppError && thrown.statusCode < 500) return null;
    throw thrown;
  }
}

/** A row that says nothing yet. */
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

/** What people call a resource. */
function nameOf(view: Values | null): string | null {
  for (const field of ['name', 'header', 'key', 'host', 'email']) {
    const value = view?.[field];
    if (typeof value === 'string' && value !== '') return value.slice(0, 300).toWellFormed();
  }
  return null;
}
