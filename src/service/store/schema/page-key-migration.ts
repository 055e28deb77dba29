/** Status pages that open with a key. */
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
