const ofWindow =
  'window_id bigint not null references maintenance_windows (id) on delete cascade, occurrence bigint not null';

/** Single occurrences of maintenance windows: their changes and their announcements. */
export const maintenanceOccurrences = {
  name: '0020-maintenance-occurrences',
  statements: [
    `create table maintenances (
      ${ofWindow}, starts_at bigint, ends_at bigint, is_deleted integer not null,
      stated text, begun bigint, ended bigint,
      primary key (window_id, occurrence))`,
    `create table maintenance_updates (
      id text primary key, ${ofWindow},
      status text not null, is_stated integer not null, description text not null,
      notify_subscribers integer not null,
      previous_status text not null, previous_starts_at bigint not null, previous_ends_at bigint not null,
      starts_at bigint, ends_at bigint, created bigint not null)`,
    `create index maintenance_updates_by_occurrence on maintenance_updates (window_id, occurrence, created)`,
    `create table maintenance_notices (
      ${ofWindow}, kind text not null, created bigint not null,
      primary key (window_id, occurrence, kind))`,
    `create index maintenance_notices_by_time on maintenance_notices (created)`,
    // In the format of JSON.stringify; in names the quotes would be escaped.
    `alter table maintenance_windows add column is_visible integer not null default 0`,
    `update maintenance_windows set is_visible = 1
      where cast(definition as text) like '%"statusPageVisibility":{"enabled":true%'`,
    `create index maintenance_windows_visible on maintenance_windows (starts_at) where is_visible = 1`,
  ],
};
