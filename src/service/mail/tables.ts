import type { Generated } from 'kysely';

/** A mail to a subscriber that waits to be sent. */
export interface SubscriberMailRow {
  position: Generated<number>;
  /** Whose page it is of; empty in rows of older builds. */
  account_id: string;
  address: string;
  subject: string;
  text: string;
  unsubscribe_url: string;
  tries: number;
  /** When it may be tried next; while one process is at it, when another one may. */
  next_at: number;
  created: number;
}

export interface MailTables {
  subscriber_mails: SubscriberMailRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends MailTables {}
}
