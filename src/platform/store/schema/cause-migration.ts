const ofAccount = 'account_id text not null references accounts (id) on delete cascade';

/** Causes of failures with their members, news waiting to be grouped, and dependencies between checks. */
export const alertCauses = {
  name: '0036-alert-causes',
  statements: [
    // No reference to checks: results are stored while checks are changed, and neither must wait for the other.
    `create table alert_causes (
      id text primary key, ${ofAccount}, kind text not null, state {json} not null,
      opened bigint not null, closed bigint, next_at bigint)`,
    `create index alert_causes_by_account on alert_causes (account_id, opened, id)`,
    `create index alert_causes_open on alert_causes (account_id) where closed is null`,
    `create index alert_causes_due on alert_causes (next_at) where next_at is not null`,
    `create table alert_cause_members (
      check_id text primary key, cause_id text not null references alert_causes (id) on delete cascade)`,
    `create index alert_cause_members_by_cause on alert_cause_members (cause_id)`,
    `create table alert_cause_news (
      position {serial}, ${ofAccount}, check_id text not null, content {json} not null,
      created bigint not null, due bigint not null)`,
    `create index alert_cause_news_due on alert_cause_news (due)`,
    `create index alert_cause_news_by_account on alert_cause_news (account_id, position)`,
    `create index alert_cause_news_by_check on alert_cause_news (check_id)`,
    `alter table alerts add column cause_id text`,
    `create table check_parents (
      check_id text not null references checks (id) on delete cascade,
      parent_id text not null references checks (id) on delete cascade,
      primary key (check_id, parent_id))`,
    `create index check_parents_by_parent on check_parents (parent_id)`,
    `alter table statuses add column target_host text`,
    `alter table statuses add column target_address text`,
    `create index statuses_by_host on statuses (account_id, target_host) where target_host is not null`,
    `create index statuses_by_address on statuses (account_id, target_address)
      where target_address is not null`,
  ],
};

/** Content of a follow-up message on a cause: checks that joined it, or recovered while others still fail. */
export const causeUpdates = {
  name: '0081-cause-updates',
  statements: [`alter table alert_notifications add column cause_update {json}`],
};
