/** Last use of keys, and the log of changes with their actors. */
export const auditMigration = {
  name: '0050-audit-log',
  statements: [
    `alter table api_keys add column last_used bigint`,
    `create table audit_log (
      id text primary key,
      account_id text references accounts (id) on delete cascade,
      created bigint not null,
      actor_kind text not null, actor_id text, actor_name text not null, address text,
      operation text not null, resource text, resource_name text,
      outcome text not null, changes {json} not null, for_admins integer not null)`,
    `create index audit_log_by_account on audit_log (account_id, created, id)`,
    `create index audit_log_by_resource on audit_log (account_id, resource, created, id)`,
    `create index audit_log_by_age on audit_log (created)`,
  ],
};
