import type { Generated } from 'kysely';

/** A pending mail to a subscriber. */
export interface SubscriberMailRow {
  position: Generated<number>;
  /** Account of the page; empty in rows of older builds. */
  account_id: string;
  address: string;
  subject: string;
  text: string;
  unsubscribe_url: string;
  tries: number;
  /** When it may be tried next; while a process holds it, when another may take it. */
  next_at: number;
  created: number;
}

export interface MailTables {
  subscriber_mails: SubscriberMailRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends MailTables {}
}
