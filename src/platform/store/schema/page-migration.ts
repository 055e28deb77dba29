const ofAccount = 'account_id text not null references accounts (id) on delete cascade';

/** Pages for readers: dashboards, status pages, services, incidents, subscriptions. */
export const pages = {
  name: '0007-pages',
  statements: [
    `create table dashboards (
      id {serial}, ${ofAccount}, dashboard_id text not null unique,
      custom_url text not null unique, custom_domain text unique, is_private integer not null,
      definition {json} not null, created bigint not null, updated bigint)`,
    `create index dashboards_by_account on dashboards (account_id, created, id)`,
    `create table dashboard_keys (
      id text primary key,
      dashboard_id bigint not null references dashboards (id) on delete cascade,
      key_hash text not null unique, masked text not null, created bigint not null)`,
    `create index dashboard_keys_by_dashboard on dashboard_keys (dashboard_id)`,
    `create table dashboard_incidents (
      id text primary key, ${ofAccount},
      dashboard_id bigint not null references dashboards (id) on delete cascade,
      name text not null, impact text not null, started bigint not null, stopped bigint,
      created bigint not null, updated bigint)`,
    `create index dashboard_incidents_by_dashboard on dashboard_incidents (dashboard_id, started, id)`,
    `create index dashboard_incidents_by_account on dashboard_incidents (account_id)`,
    `create table dashboard_incident_updates (
      id text primary key,
      incident_id text not null references dashboard_incidents (id) on delete cascade,
      status text not null, description text not null, created bigint not null, updated bigint)`,
    `create index dashboard_incident_updates_by_incident on dashboard_incident_updates (incident_id, created, id)`,
    `create table status_pages (
      id text primary key, ${ofAccount}, name text not null,
      url text not null unique, custom_domain text unique,
      definition {json} not null, created bigint not null, updated bigint)`,
    `create index status_pages_by_account on status_pages (account_id, created, id)`,
    `create table services (
      id text primary key, ${ofAccount}, name text not null, created bigint not null, updated bigint)`,
    `create index services_by_account on services (account_id, created, id)`,
    `create table status_page_cards (
      id text primary key,
      status_page_id text not null references status_pages (id) on delete cascade,
      position integer not null, name text not null, created bigint not null, updated bigint)`,
    `create index status_page_cards_by_page on status_page_cards (status_page_id, position)`,
    `create table status_page_card_services (
      card_id text not null references status_page_cards (id) on delete cascade,
      position integer not null,
      service_id text not null references services (id) on delete cascade,
      primary key (card_id, service_id))`,
    `create index status_page_card_services_by_service on status_page_card_services (service_id)`,
    `create table incidents (
      id text primary key, ${ofAccount}, name text not null, severity text not null,
      check_id text, trigger_id text unique, last_status text not null, started bigint not null, ended bigint,
      created bigint not null, updated bigint)`,
    `create index incidents_by_account on incidents (account_id, created, id)`,
    `create table incident_services (
      incident_id text not null references incidents (id) on delete cascade,
      service_id text not null references services (id) on delete cascade,
      position integer not null,
      primary key (incident_id, service_id))`,
    `create index incident_services_by_service on incident_services (service_id)`,
    `create table incident_updates (
      id text primary key,
      incident_id text not null references incidents (id) on delete cascade,
      status text not null, description text not null, published bigint not null,
      notify_subscribers integer not null, created bigint not null)`,
    `create index incident_updates_by_incident on incident_updates (incident_id, published, created, id)`,
    `create table status_page_subscriptions (
      id text primary key,
      status_page_id text not null references status_pages (id) on delete cascade,
      type text not null, address text not null, status text not null,
      token text not null unique, created bigint not null, updated bigint,
      unique (status_page_id, type, address))`,
    `create table subscriber_mails (
      position {serial}, address text not null, subject text not null, text text not null,
      unsubscribe_url text not null, tries integer not null, next_at bigint not null, created bigint not null)`,
    `create index subscriber_mails_due on subscriber_mails (next_at, position)`,
    `create index status_page_subscriptions_by_page on status_page_subscriptions (status_page_id, created, id)`,
  ],
};

/** Account of a subscriber mail: accounts take turns at sending. */
export const subscriberMailAccounts = {
  name: '0082-subscriber-mail-accounts',
  statements: [
    // Mails of older builds share one value, which is not an account.
    `alter table subscriber_mails add column account_id text not null default ''`,
    `create index subscriber_mails_due_of_account on subscriber_mails (account_id, next_at, position)`,
  ],
};

/** Status pages that require a key. */
export const statusPageKeys = {
  name: '0059-status-page-keys',
  statements: [
    `alter table status_pages add column is_private integer not null default 0`,
    `create table status_page_keys (
      id text primary key,
      status_page_id text not null references status_pages (id) on delete cascade,
      key_hash text not null unique, masked text not null, created bigint not null)`,
    `create index status_page_keys_by_page on status_page_keys (status_page_id)`,
  ],
};

/**
 * One table of the host names of all pages and accounts, and of the names by which the service itself was called. Of
 * two pages with the same name, the older one keeps it.
 */
export const customDomains = {
  name: '0071-custom-domains',
  statements: [
    `update dashboards set custom_domain = null where exists (
      select 1 from status_pages where status_pages.custom_domain = dashboards.custom_domain
        and status_pages.created <= dashboards.created)`,
    `update status_pages set custom_domain = null where exists (
      select 1 from dashboards where dashboards.custom_domain = status_pages.custom_domain)`,
    `create table custom_domains (
      host text primary key,
      account_id text not null references accounts (id) on delete cascade,
      status_page_id text unique
        references status_pages (id) on delete cascade deferrable initially deferred,
      dashboard_id text unique
        references dashboards (dashboard_id) on delete cascade deferrable initially deferred,
      method text, problem text, checked bigint, failing_since bigint, created bigint not null)`,
    `create index custom_domains_by_account on custom_domains (account_id)`,
    `create index custom_domains_by_check on custom_domains (checked)`,
    `insert into custom_domains (host, account_id, status_page_id, method, created)
      select custom_domain, account_id, id, 'UPGRADE', created from status_pages
        where custom_domain is not null`,
    `insert into custom_domains (host, account_id, dashboard_id, method, created)
      select custom_domain, account_id, dashboard_id, 'UPGRADE', created from dashboards
        where custom_domain is not null`,
    `create table service_names (
      name text primary key, source text not null, seen bigint not null)`,
  ],
};
