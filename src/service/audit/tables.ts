import type { auditActorKinds } from '@picket/protocol/accounts/audit-log.ts';

export interface AuditRow {
  id: string;
  /** Null for a login by an unknown user. */
  account_id: string | null;
  created: number;
  actor_kind: (typeof auditActorKinds)[number];
  actor_id: string | null;
  actor_name: string;
  address: string | null;
  operation: string;
  resource: string | null;
  resource_name: string | null;
  outcome: 'DONE' | 'REFUSED' | 'UNKNOWN';
  /** JSON: `before`, `after` and `secrets`. */
  changes: string;
  /** Whether only admins may perform and see the action. */
  for_admins: 0 | 1;
}

export interface AuditTables {
  audit_log: AuditRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends AuditTables {}
}
