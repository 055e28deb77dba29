import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { Timestamp } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

export const auditActorKinds = ['API_KEY', 'MEMBER', 'LINK', 'COMMAND', 'NOBODY'] as const;
export const auditOutcomes = ['DONE', 'REFUSED', 'UNKNOWN'] as const;

const AuditActor = lazySchema(() =>
  z
    .object({
      kind: z
        .enum(auditActorKinds)
        .describe(
          'LINK: a person with a link from a mail or notification; COMMAND: an operator at the command line of the service; NOBODY: a failed login',
        ),
      id: z.string().nullable().describe('Of the key or the member'),
      name: z.string().describe('Its name at that time'),
    })
    .meta({ id: 'AuditActor' }),
);

const shown = z.record(z.string(), z.unknown()).nullable();

const AuditEntry = lazySchema(() =>
  z
    .object({
      id: z.uuid(),
      created_at: z.iso.datetime(),
      actor: AuditActor.schema,
      address: z
        .string()
        .nullable()
        .describe('Client address; null for commands, and if the reader is not ADMIN'),
      operation: z.string().describe('The operationId, or `login`'),
      resource: z.string().nullable().describe('Object: `checks/<id>`'),
      resourceName: z.string().nullable().describe('Its name at that time'),
      outcome: z
        .enum(auditOutcomes)
        .describe('REFUSED: a failed login; UNKNOWN: the service stopped or failed during the operation'),
      before: shown.describe('Old values of the changed fields; null for a new object'),
      after: shown.describe('New values of the changed fields; null for a deleted object'),
      secrets: z.array(z.string()).describe('Changed fields whose values are never shown'),
    })
    .meta({ id: 'AuditEntry' }),
);
export type AuditEntry = z.output<typeof AuditEntry.schema>;

export const auditLogRoutes = defineRoutes('Audit log', 'account', {
  listAuditLog: {
    method: 'GET',
    path: '/v1/audit-log',
    summary: 'Audit log of the account, newest first; people, keys, logins and addresses only for ADMIN',
    query: lazySchema(() =>
      z.object({
        ...CursorPaging,
        resource: z.string().min(1).max(300).optional().describe('Only this object: `checks/<id>`'),
        actorId: z.uuid().optional().describe('Only changes by this API key or member'),
        operation: z
          .string()
          .min(1)
          .max(100)
          .optional()
          .describe('Only this operation: `updateCheck`, `login`'),
        outcome: z.enum(auditOutcomes).optional(),
        from: Timestamp.optional(),
        to: Timestamp.optional(),
      }),
    ),
    response: lazySchema(() => cursorPage(AuditEntry.schema)),
  },
});
