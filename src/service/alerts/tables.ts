import type { Generated } from 'kysely';
import type { AlertType, Notice } from './state.ts';

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
}

export const notificationStatuses = ['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED'] as const;
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
  tries: number;
  /** When it may be tried next; while one process is at it, when another one may. */
  next_at: number;
  last_try: number | null;
  result: string | null;
  created: number;
  ended: number | null;
}

/** A row with a column that the database counts up: not given on insert. */
type Counted<Row, Column extends keyof Row> = Omit<Row, Column> & { [C in Column]: Generated<number> };

export interface AlertTables {
  alert_channels: Counted<AlertChannelRow, 'id'>;
  alert_subscriptions: Counted<AlertSubscriptionRow, 'id'>;
  alert_states: AlertStateRow;
  alerts: AlertRow;
  alert_notifications: Counted<AlertNotificationRow, 'position'>;
}
