import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { Timestamp } from '../http/query.ts';
import { defineRoute, successful } from '../http/route.ts';

export const auditActorKinds = ['API_KEY', 'MEMBER', 'LINK', 'COMMAND', 'NOBODY'] as const;
export const auditOutcomes = ['DONE', 'REFUSED', 'UNKNOWN'] as const;

const AuditActor = z
  .object({
    kind: z
      .enum(auditActorKinds)
      .describe(
        'LINK: the holder of a link in a mail or notification; COMMAND: somebody at the command line of the service; NOBODY: a login that failed',
      ),
    id: z.string().nullable().describe('Of the key or the member'),
    name: z.string().describe('As it was called then'),
  })
  .meta({ id: 'AuditActor' });

const shown = z.record(z.string(), z.unknown()).nullable();

const AuditEntry = z
  .object({
    id: z.uuid(),
    created_at: z.iso.datetime(),
    actor: AuditActor,
    address: z
      .string()
      .nullable()
      .describe('Where the request came from; null for commands, and where the reader is no ADMIN'),
    operation: z.string().describe('The operationId, or `login`'),
    resource: z.string().nullable().describe('What it was about: `checks/<id>`'),
    resourceName: z.string().nullable().describe('As it was called then'),
    outcome: z
      .enum(auditOutcomes)
      .describe('REFUSED: a login that failed; UNKNOWN: the service stopped, or failed, on the way'),
    before: shown.describe('The fields that changed, as they were; null where there was nothing'),
    after: shown.describe('The same as they are since; null where nothing is left'),
    secrets: z.array(z.string()).describe('Fields that were written and are never shown'),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.output<typeof AuditEntry>;

export const auditLogRoutes = {
  listAuditLog: defineRoute({
    method: 'GET',
    path: '/v1/audit-log',
    operationId: 'listAuditLog',
    summary:
      'Who changed what, from where and when, newest first; people, keys, logins and addresses only for ADMIN',
    tag: 'Audit log',
    credential: 'account',
    query: z.object({
      ...CursorPaging,
      resource: z.string().min(1).max(300).optional().describe('Only about this: `checks/<id>`'),
      actorId: z.uuid().optional().describe('Only by this API key or member'),
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
    success: successful,
    response: cursorPage(AuditEntry),
  }),
};
