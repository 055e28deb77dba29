const ofAccount = 'account_id text not null references accounts (id) on delete cascade';

/** Resources that checks refer to: variables, snippets, client certificates, groups, maintenance windows. */
export const accountResources = {
  name: '0005-account-resources',
  statements: [
    `create table variables (
      ${ofAccount}, key text not null, value text not null,
      locked integer not null, secret integer not null,
      created bigint not null, updated bigint,
      primary key (account_id, key))`,
    `create table snippets (
      id {serial}, ${ofAccount}, name text not null, script text not null,
      created bigint not null, updated bigint)`,
    `create index snippets_by_account on snippets (account_id, created, id)`,
    `create table client_certificates (
      id text primary key, ${ofAccount}, host text not null, cert text not null, private_key text not null,
      ca text, passphrase text, created bigint not null)`,
    `create index client_certificates_by_account on client_certificates (account_id, created, id)`,
    `create table check_groups (
      id {serial}, ${ofAccount}, name text not null, name_search text not null, definition {json} not null,
      created bigint not null, updated bigint)`,
    `create index check_groups_by_account on check_groups (account_id, created, id)`,
    `create table check_group_tags (
      group_id bigint not null references check_groups (id) on delete cascade,
      tag text not null,
      primary key (group_id, tag))`,
    `create table check_group_locations (
      group_id bigint not null references check_groups (id) on delete cascade,
      name text not null,
      primary key (group_id, name))`,
    `create index check_group_locations_by_name on check_group_locations (name)`,
    `alter table checks add column group_order bigint`,
    `create index checks_by_group on checks (group_id) where group_id is not null`,
    `create table maintenance_windows (
      id {serial}, ${ofAccount}, starts_at bigint not null, last_ends_at bigint, definition {json} not null,
      created bigint not null, updated bigint)`,
    `create index maintenance_windows_by_account on maintenance_windows (account_id, starts_at)`,
  ],
};

/** Variables whose value is a secret of the location. */
export const variableReferences = {
  name: '0094-variable-references',
  statements: [`alter table variables add column value_from text`],
};
