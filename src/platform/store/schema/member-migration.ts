/** People, their memberships and logins. From now on a session belongs to a key or a person; existing ones end. */
export const memberMigration = {
  name: '0051-members',
  statements: [
    `create table people (
      id text primary key, email text not null unique, email_proven integer not null,
      name text, password text, created bigint not null)`,
    `create table members (
      account_id text not null references accounts (id) on delete cascade,
      person_id text not null references people (id) on delete cascade,
      role text not null, created bigint not null, updated bigint not null,
      primary key (account_id, person_id))`,
    `create index members_by_person on members (person_id, created)`,
    `create table invitations (
      id text primary key,
      account_id text not null references accounts (id) on delete cascade,
      email text not null, role text not null, token_hash text not null unique, is_mailed integer not null,
      invited_by text not null, created bigint not null, expires bigint not null,
      unique (account_id, email))`,
    `create index invitations_by_email on invitations (email)`,
    `create table password_resets (
      token_hash text primary key,
      person_id text not null references people (id) on delete cascade,
      is_mailed integer not null, expires bigint not null)`,
    `create index password_resets_by_person on password_resets (person_id)`,
    `create table identities (
      issuer text not null, subject text not null,
      person_id text not null references people (id) on delete cascade,
      primary key (issuer, subject))`,
    `create index identities_by_person on identities (person_id)`,
    `drop table login_sessions`,
    `create table login_sessions (
      id text primary key, kind text not null, token_hash text not null unique,
      account_id text not null references accounts (id) on delete cascade,
      key_id text references api_keys (id) on delete cascade,
      person_id text references people (id) on delete cascade,
      address text, browser text,
      created bigint not null, last_seen bigint not null, expires bigint not null)`,
    `create index login_sessions_by_account on login_sessions (account_id, last_seen)`,
    `create index login_sessions_by_key on login_sessions (key_id)`,
    `create index login_sessions_by_person on login_sessions (person_id)`,
    `create index login_sessions_by_expiry on login_sessions (expires)`,
  ],
};

/**
 * Origin of a member's role, and sessions begun by single sign-on. Existing members with single sign-on get neither
 * role: the next login determines it.
 */
export const memberOrigins = {
  name: '0072-member-origins',
  statements: [
    `alter table members add column given_role text`,
    `alter table members add column group_role text`,
    `update members set given_role = role
      where not exists (select 1 from identities where identities.person_id = members.person_id)`,
    // For the number of recent requests to an address, regardless of the page.
    `create index status_page_subscriptions_by_address on status_page_subscriptions (address)`,
    `alter table login_sessions add column by_single_sign_on integer not null default 0`,
  ],
};

/** Allowances of logins and mails, which all processes share and which survive restarts. */
export const sharedLimits = {
  name: '0083-shared-limits',
  statements: [
    `create table spent_limits (name_hash text primary key, full_at bigint not null)`,
    `create index spent_limits_by_end on spent_limits (full_at)`,
  ],
};
