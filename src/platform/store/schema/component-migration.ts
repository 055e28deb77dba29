const ofAccount = 'account_id text not null references accounts (id) on delete cascade';

/** Status pages of components, and the rules by which failing checks open incidents on them. */
export const statusPageComponents = {
  name: '0060-status-page-components',
  statements: [
    `alter table status_pages add column version integer not null default 2`,
    `create table status_page_components (
      id text primary key, ${ofAccount},
      status_page_id text not null references status_pages (id) on delete cascade,
      parent_id text references status_page_components (id) on delete set null,
      type text not null, name text not null, description text, hidden integer not null,
      display_order integer not null, shows_history integer not null, is_expanded integer not null,
      created bigint not null, updated bigint)`,
    `create index status_page_components_by_page on status_page_components (status_page_id, display_order, id)`,
    `create index status_page_components_by_account on status_page_components (account_id, created, id)`,
    `create index status_page_components_by_parent on status_page_components (parent_id)
      where parent_id is not null`,
    `create table incident_components (
      incident_id text not null references incidents (id) on delete cascade,
      component_id text not null references status_page_components (id) on delete cascade,
      position integer not null, impact text not null,
      primary key (incident_id, component_id))`,
    `create index incident_components_by_component on incident_components (component_id)`,
    `create table automation_rules (
      id text primary key, ${ofAccount},
      status_page_id text not null references status_pages (id) on delete cascade,
      name text not null, enabled integer not null, definition {json} not null,
      created bigint not null, updated bigint)`,
    `create index automation_rules_by_account on automation_rules (account_id, created, id)`,
    `create index automation_rules_by_page on automation_rules (status_page_id)`,
    `create table automation_rule_tags (
      rule_id text not null references automation_rules (id) on delete cascade,
      tag text not null,
      primary key (rule_id, tag))`,
    `create index automation_rule_tags_by_tag on automation_rule_tags (tag)`,
    `create table automation_rule_components (
      rule_id text not null references automation_rules (id) on delete cascade,
      component_id text not null references status_page_components (id) on delete cascade,
      position integer not null, impact text not null,
      primary key (rule_id, component_id))`,
    `create index automation_rule_components_by_component on automation_rule_components (component_id)`,
    `alter table incidents add column rule_id text`,
    `create index incidents_by_rule on incidents (rule_id, created) where rule_id is not null`,
    // One row per check or cause that fails under a rule: with its incident, or pending until it may open one.
    `create table rule_failures (
      trigger_id text primary key, ${ofAccount},
      rule_id text not null, check_id text not null,
      incident_id text references incidents (id) on delete set null,
      waits_until bigint, created bigint not null)`,
    `create index rule_failures_by_rule on rule_failures (rule_id)`,
    `create index rule_failures_by_incident on rule_failures (incident_id) where incident_id is not null`,
    `create index rule_failures_waiting on rule_failures (waits_until) where waits_until is not null`,
  ],
};
