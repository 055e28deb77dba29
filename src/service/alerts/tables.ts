import type { Generated } from 'kysely';
import type { AlertType, Notice, Suppression } from './state.ts';

type Flag = 0 | 1;

export interface AlertChannelRow {
  /** Assigned by the database. */
  id: number;
  account_id: string;
  type: string;
  /** The channel as written: config and flags. */
  definition: string;
  created: number;
  updated: number | null;
}

/** Exactly one of check_id and group_id is set. */
export interface AlertSubscriptionRow {
  id: number;
  channel_id: number;
  check_id: string | null;
  group_id: number | null;
  activated: Flag;
}

/** Alert state of a check that does not simply pass; see raise.ts. */
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
  /** Why no channel was notified; null or absent if the channels that want such news were. */
  suppressed_by?: AlertSuppression | null;
  /** Cause that it belongs to; absent on insert. */
  cause_id?: string | null;
}

/** `same-cause`: its channels were notified of another gap with the same cause. */
export type AlertSuppression = Suppression | 'same-cause';

/** Unmeasured slots of a check at a location; see gaps/gap.ts. */
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
  /** Id of the alert that channels were notified of. */
  id: string;
  account_id: string;
  location: string;
  cause: string;
  /** Check whose gap opened first. */
  check_id: string;
  since: number;
}

/** An alert about a location that is held back by a silence. */
export interface HeldAlertRow {
  alert_id: string;
  account_id: string;
  /** When it is examined again. */
  next_at: number;
}

/** See handling/silence.ts. When a silence is ended early, `ends` is moved to that time. */
export interface SilenceRow {
  id: string;
  account_id: string;
  check_id: string | null;
  /** JSON: a list of strings, or null. */
  tags: string | null;
  location: string | null;
  comment: string | null;
  /** JSON: an Actor. */
  created_by: string;
  created: number;
  ends: number;
}

/** Actions of users on alerts. */
export const alertActions = ['ACKNOWLEDGED', 'UNACKNOWLEDGED', 'SILENCED', 'SILENCE_ENDED'] as const;
export type AlertAction = (typeof alertActions)[number];

/** A record of a user's action on alerts; never changed. */
export interface AlertActionRow {
  id: string;
  account_id: string;
  action: AlertAction;
  /** Null if it does not concern a single check. */
  check_id: string | null;
  silence_id: string | null;
  comment: string | null;
  /** JSON: an Actor. */
  actor: string;
  created: number;
}

/** Signing key of the links in the notifications of an account. */
export interface AlertLinkKeyRow {
  account_id: string;
  signing_key: string;
}

export const notificationStatuses = ['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED', 'QUIET'] as const;
export type NotificationStatus = (typeof notificationStatuses)[number];

/** Notification of one channel about one alert; its lifecycle is in notifier.ts. */
export interface AlertNotificationRow {
  position: number;
  id: string;
  account_id: string;
  alert_id: string;
  check_id: string;
  channel_id: number;
  channel_type: string;
  /** Config of the channel when the alert was created, without its secrets. */
  config: string;
  status: NotificationStatus;
  /** How often it was taken; also fences earlier holders. */
  tries: number;
  /** Attempts that the channel refused or did not respond to. */
  failed_tries: number;
  /** When it may be tried next; while a process holds it, when another may take it. */
  next_at: number;
  last_try: number | null;
  result: string | null;
  created: number;
  ended: number | null;
  /** Number of requests done, if it takes several. */
  sent: number;
  /** Messages for requests that were refused for good: a JSON list of strings. */
  refused: string | null;
  /** End of the quiet hours of its channel that hold or held it back; null if they did not. */
  held_until: number | null;
  /** `CauseUpdate` as JSON for a further message on a cause; otherwise null. */
  cause_update?: string | null;
  /** The channel as it was, if this is the last message to a receiver that it no longer leads to. */
  former_channel_id: string | null;
}

/** A row with a column that the database assigns: absent on insert. */
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
