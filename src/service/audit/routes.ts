import { type AnyHandler, type HandlerDeps, handlersById, iso } from '@picket/platform/feature/handler.ts';
import { pageOf } from '@picket/platform/http/paging.ts';
import { auditLogRoutes } from '@picket/protocol/accounts/audit-log.ts';
import { parseCursor } from '@picket/protocol/http/cursor.ts';
import { instantOf } from '@picket/protocol/http/query.ts';
import { storedChanges } from './changes.ts';
import type { AuditRow } from './tables.ts';

/** Route of the audit log. */
export function auditLogHandlers({ store }: Pick<HandlerDeps, 'store'>): [string, AnyHandler][] {
  return handlersById(auditLogRoutes, {
    async listAuditLog({ caller, query }) {
      const { limit, nextId, resource, actorId, operation, outcome, from, to } = query;
      const isAdmin = caller.role === 'ADMIN';
      const rows = await store.audit.list(
        {
          accountId: caller.accountId,
          resource,
          actorId,
          operation,
          outcome,
          from: instantOf(from),
          to: instantOf(to),
          isForAll: !isAdmin,
        },
        limit + 1,
        parseCursor(nextId),
      );
      return pageOf(rows, limit, async (shown) => shown.map((row) => auditEntry(row, isAdmin)));
    },
  });
}

/** An audit row as responses show it. */
export function auditEntry(row: AuditRow, isAdmin: boolean) {
  const { before, after, secrets } = storedChanges(row.changes);
  return {
    id: row.id,
    created_at: iso(row.created),
    actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
    address: isAdmin ? row.address : null,
    operation: row.operation,
    resource: row.resource,
    resourceName: row.resource_name,
    outcome: row.outcome,
    before: before && { ...before },
    after: after && { ...after },
    secrets: [...secrets],
  };
}
