const ofAccount = 'account_id text not null references accounts (id) on delete cascade';

/** Alert channels and their subscriptions, alert states, alerts, their notifications, and events for incidents. */
export const alerting = {
  name: '0006-alerting',
  statements: [
    `alter table accounts add column alert_settings {json}`,
    `create table alert_channels (
      id {serial}, ${ofAccount}, type text not null, definition {json} not null,
      created bigint not null, updated bigint)`,
    `create index alert_channels_by_account on alert_channels (account_id, created, id)`,
    `create table alert_subscriptions (
      id {serial},
      channel_id bigint not null references alert_channels (id) on delete cascade,
      check_id text references checks (id) on delete cascade,
      group_id bigint references check_groups (id) on delete cascade,
      activated integer not null,
      unique (channel_id, check_id), unique (channel_id, group_id))`,
    `create index alert_subscriptions_by_check on alert_subscriptions (check_id) where check_id is not null`,
    `create index alert_subscriptions_by_group on alert_subscriptions (group_id) where group_id is not null`,
    // No reference to the check: results are stored while checks are changed, and neither must wait for the other.
    `create table alert_states (
      check_id text primary key, account_id text not null, state {json} not null,
      next_at bigint, updated bigint not null)`,
    `create index alert_states_due on alert_states (next_at) where next_at is not null`,
    `create table alerts (
      id text primary key, account_id text not null, check_id text not null,
      alert_type text not null, notice text not null,
      result_id text, facts {json} not null, created bigint not null)`,
    `create index alerts_by_account on alerts (account_id, created, id)`,
    `create index alerts_by_check on alerts (check_id, created, id)`,
    `create table alert_notifications (
      position {serial},
      id text not null unique, account_id text not null, alert_id text not null,
      check_id text not null, channel_id bigint not null, channel_type text not null, config {json} not null,
      status text not null, tries integer not null, next_at bigint not null, last_try bigint,
      result text, created bigint not null, ended bigint,
      unique (alert_id, channel_id))`,
    `create index alert_notifications_open on alert_notifications (next_at) where status = 'IN_PROGRESS'`,
    `create index alert_notifications_in_order on alert_notifications (channel_id, check_id, position)
      where status = 'IN_PROGRESS'`,
    `create index alert_notifications_by_channel on alert_notifications (channel_id, last_try)`,
    `create index alert_notifications_by_account on alert_notifications (account_id, created, position)`,
    `create table incident_events (
      position {serial}, trigger_id text not null, account_id text not null, check_id text not null,
      kind text not null, definition {json} not null, created bigint not null)`,
    `create index statuses_by_certificate on statuses (certificate_expires, check_id)
      where certificate_expires is not null`,
  ],
};

/** Consecutive unmeasured slots, and their groups. */
export const monitoringGaps = {
  name: '0035-monitoring-gaps',
  statements: [
    `create table monitoring_gaps (
      check_id text not null, location text not null, ${ofAccount}, location_id text, cause text not null,
      reason text not null, message text, since bigint not null, slots integer not null,
      next_at bigint, opened bigint, primary key (check_id, location))`,
    `create index monitoring_gaps_due on monitoring_gaps (next_at) where next_at is not null`,
    `create index monitoring_gaps_by_account on monitoring_gaps (account_id, location, cause)`,
    `create table gap_groups (
      id text not null, ${ofAccount}, location text not null, cause text not null, check_id text not null,
      since bigint not null, primary key (account_id, location, cause))`,
  ],
};

/** Alerts about locations that a silence holds back. */
export const heldAlerts = {
  name: '0041-held-alerts',
  statements: [
    `create table held_alerts (alert_id text primary key, ${ofAccount}, next_at bigint not null)`,
    `create index held_alerts_due on held_alerts (next_at)`,
  ],
};

/** Notifications that quiet hours hold back. */
export const heldNotifications = {
  name: '0042-held-notifications',
  statements: [`alter table alert_notifications add column held_until bigint`],
};

/** An attempt that ended with its process proves nothing about the channel: only failed ones count. */
export const failedTries = {
  name: '0058-failed-tries',
  statements: [
    `alter table alert_notifications add column failed_tries integer not null default 0`,
    `update alert_notifications set failed_tries = tries where status = 'IN_PROGRESS'`,
  ],
};

/** Handling of alerts by users, and alerts without notifications. */
export const alertHandling = {
  name: '0032-alert-handling',
  statements: [
    `alter table alerts add column suppressed_by text`,
    `create index alert_states_by_account on alert_states (account_id, check_id)`,
    `create table silences (
      id text primary key, ${ofAccount}, check_id text, tags {json}, location text, comment text,
      created_by {json} not null, created bigint not null, ends bigint not null)`,
    `create index silences_by_account on silences (account_id, created, id)`,
    `create index silences_by_end on silences (account_id, ends)`,
    `create table alert_actions (
      id text primary key, ${ofAccount}, action text not null, check_id text, silence_id text, comment text,
      actor {json} not null, created bigint not null)`,
    `create index alert_actions_by_account on alert_actions (account_id, created, id)`,
    `create table alert_link_keys (
      account_id text primary key references accounts (id) on delete cascade, signing_key text not null)`,
  ],
};

const keeping = `('PAGERDUTY', 'OPSGENIE', 'ALERTMANAGER', 'INCIDENT_IO')`;

/** Open incidents at receivers that track them, and deleted channels with a final message to send. */
export const receiverIncidents = {
  name: '0080-receiver-incidents',
  statements: [
    `create table receiver_incidents (
      channel_id bigint not null, incident_key text not null, ${ofAccount},
      filed_under text not null, subject text not null, alert_id text not null, facts {json} not null,
      opened bigint not null, look_at bigint not null,
      primary key (channel_id, incident_key))`,
    `create index receiver_incidents_due on receiver_incidents (look_at)`,
    `create index receiver_incidents_by_subject on receiver_incidents (filed_under)`,
    `create index receiver_incidents_by_account on receiver_incidents (account_id)`,
    `create table former_channels (
      id text primary key, ${ofAccount}, type text not null, definition {json} not null, created bigint not null)`,
    `alter table alert_notifications add column former_channel_id text`,
    // Incidents opened before this table existed: those whose latest message is not a recovery.
    `insert into receiver_incidents
        (channel_id, incident_key, account_id, filed_under, subject, alert_id, facts, opened, look_at)
      select channel_id, 'picket-' || subject || place || '-' || filed_under, account_id, filed_under, subject,
        alert_id, facts, created, 0
      from (
        select named.*, row_number() over (
          partition by channel_id, subject, place, filed_under order by position desc) as age
        from (
          select n.channel_id, n.account_id, n.check_id as filed_under, n.alert_id, n.position,
            a.facts, a.notice, a.created,
            coalesce(a.facts ->> 'subject', case when a.notice = 'ssl' then 'certificate' else 'check' end)
              as subject,
            case when a.facts ->> 'subject' = 'gap'
              then '-' || coalesce(a.facts ->> 'runLocation', 'service') else '' end as place
          from alert_notifications n
          join alerts a on a.id = n.alert_id
          join alert_channels c on c.id = n.channel_id
          where n.channel_type in ${keeping}) as named) as newest
      where age = 1 and notice <> 'recovery' and subject <> 'test'`,
  ],
};
