/** Allowances of logins and mails, which all processes share and which outlive them. */
export const sharedLimits = {
  name: '0085-shared-limits',
  statements: [
    `create table spent_limits (name_hash text primary key, full_at bigint not null)`,
    `create index spent_limits_by_end on spent_limits (full_at)`,
  ],
};
