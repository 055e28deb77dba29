import type { Generated } from 'kysely';
import type { AlertType, Notice, Suppression } from './state.ts';

type Flag = 0 | 1;

export interface AlertChannelRow {
  /** Counted up by the database. */
  id: number;
  account_id: string;
  type: string;
  /** The channel as it was written: config and flags. */
  definition: string;
  created: number;
  updated: number | null;
}

/** Exactly one of check_id and group_id is there. */
export interface AlertSubscriptionRow {
  id: number;
  channel_id: number;
  check_id: string | null;
  group_id: number | null;
  activated: Flag;
}

/** The alert state of a check that does not just pass; see raise.ts. */
export interface AlertStateRow {
  check_id: string;
  account_id: string;
  state: string;
  /** When time alone may change it. */
  next_at: number | null;
  updated: number;
}

export interface AlertRow {
  id: string;
  account_id: string;
  check_id: string;
  alert_type: AlertType;
  notice: Notice;
  result_id: string | null;
  facts: string;
  created: number;
  /** Why nobody was notified of it; null, or not given, when channels are, as far as they want such news. */
  suppressed_by?: AlertSuppression | null;
  /** The cause it belongs to; not given where it is inserted. */
  cause_id?: string | null;
}

/** `same-cause`: its channels were notified of another gap with the same cause. */
export type AlertSuppression = Suppression | 'same-cause';

/** What was not measured of a check at a location; see gaps/gap.ts. */
export interface MonitoringGapRow {
  check_id: string;
  location: string;
  account_id: string;
  location_id: string | null;
  cause: string;
  reason: string;
  message: string | null;
  since: number;
  slots: number;
  next_at: number | null;
  opened: number | null;
}

/** Open gaps of one cause at one location. */
export interface GapGroupRow {
  /** Of the alert that channels were notified of. */
  id: string;
  account_id: string;
  location: string;
  cause: string;
  /** The check whose gap opened first. */
  check_id: string;
  since: number;
}

/** An alert about a location that a silence holds back. */
export interface HeldAlertRow {
  alert_id: string;
  account_id: string;
  /** When it is looked at again. */
  next_at: number;
}

/** See handling/silence.ts. One that is ended early has `ends` moved to then. */
export interface SilenceRow {
  id: string;
  account_id: string;
  check_id: string | null;
  /** JSON: a list of texts, or null. */
  tags: string | null;
  location: string | null;
  comment: string | null;
  /** JSON: an Actor. */
  created_by: string;
  created: number;
  ends: number;
}

/** What people did about alerts. */
export const alertActions = ['ACKNOWLEDGED', 'UNACKNOWLEDGED', 'SILENCED', 'SILENCE_ENDED'] as const;
export type AlertAction = (typeof alertActions)[number];

/** A record of what somebody did about alerts; never changed. */
export interface AlertActionRow {
  id: string;
  account_id: string;
  action: AlertAction;
  /** Null where it is about no one check. */
  check_id: string | null;
  silence_id: string | null;
  comment: string | null;
  /** JSON: an Actor. */
  actor: string;
  created: number;
}

/** What the links in the notifications of an account are signed with. */
export interface AlertLinkKeyRow {
  account_id: string;
  signing_key: string;
}

export const notificationStatuses = ['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED', 'QUIET'] as const;
export type NotificationStatus = (typeof notificationStatuses)[number];

/** The notification of one channel about one alert; the story is in notifier.ts. */
export interface AlertNotificationRow {
  position: number;
  id: string;
  account_id: string;
  alert_id: string;
  check_id: string;
  channel_id: number;
  channel_type: string;
  /** The config of the channel when the alert was made, without its secrets. */
  config: string;
  status: NotificationStatus;
  /** How often it was taken, which fences those that took it before. */
  tries: number;
  /** Those of them that the channel refused or did not answer. */
  failed_tries: number;
  /** When it may be tried next; while one process is at it, when another one may. */
  next_at: number;
  last_try: number | null;
  result: string | null;
  created: number;
  ended: number | null;
  /** How many of its requests are done, where it takes several. */
  sent: number;
  /** What was said to those that were refused for good: a JSON list of texts. */
  refused: string | null;
  /** Until when the quiet hours of its channel hold or held it back; null where they did not. */
  held_until: number | null;
  /** `CauseUpdate` as JSON where it is a further message on a cause; null for any other. */
  cause_update?: string | null;
  /** The channel as it was, where what is sent is the last word to a receiver that it leads to no more. */
  former_channel_id: string | null;
}

/** A row with a column that the database counts up: not given on insert. */
type Counted<Row, Column extends keyof Row> = Omit<Row, Column> & { [C in Column]: Generated<number> };

export interface AlertTables {
  alert_channels: Counted<AlertChannelRow, 'id'>;
  alert_subscriptions: Counted<AlertSubscriptionRow, 'id'>;
  alert_states: AlertStateRow;
  alerts: AlertRow;
  monitoring_gaps: MonitoringGapRow;
  gap_groups: GapGroupRow;
  held_alerts: HeldAlertRow;
  silences: SilenceRow;
  alert_actions: AlertActionRow;
  alert_link_keys: AlertLinkKeyRow;
  alert_notifications: Omit<Counted<AlertNotificationRow, 'position'>, 'sent' | 'failed_tries'> & {
    sent: Generated<number>;
    failed_tries: Generated<number>;
  };
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends AlertTables {}
}
