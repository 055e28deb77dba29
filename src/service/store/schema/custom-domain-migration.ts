/**
 * One table of the host names that pages of all kinds and accounts answer at, and the names that the service itself
 * was called by. Of two pages that had one name, the older one keeps it.
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
