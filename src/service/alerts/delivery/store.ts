import { batches, type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { type RawBuilder, sql } from 'kysely';
import { ReceiverIncidents } from '../receivers/store.ts';
import type { Notice } from '../state.ts';
import type { AlertNotificationRow, AlertRow, NotificationStatus } from '../tables.ts';

export interface NotificationFilter {
  readonly accountId: string;
  readonly channelId?: number | undefined;
  /** Only notifications of failures, or only others. */
  readonly hasFailures?: boolean | undefined;
  /** Epoch milliseconds, inclusive. */
  readonly from: number;
  /** Epoch milliseconds, exclusive. */
  readonly to: number;
}

export type DueNotification = Pick<AlertNotificationRow, 'position' | 'channel_id' | 'account_id'>;

/** Channels and accounts that have reached their limit of notifications in flight. */
export interface Crowd {
  readonly channelIds: readonly number[];
  readonly accountIds: readonly string[];
}

/** Reminders of a long night belong to one subject, too. */
const lookedBack = 200;
const mostOfOpenAlerts = 5_000;
const nobody: Crowd = { channelIds: [], accountIds: [] };

/** A notification that covered a failing check: of its own alert, or of one of its cause. */
export type NotifiedRow = Pick<
  AlertNotificationRow,
  'channel_id' | 'channel_type' | 'status' | 'config' | 'created'
> & { readonly concerns: string };

/** A notification, with the fields of its alert that a list shows. */
export type ListedNotification = AlertNotificationRow &
  Pick<AlertRow, 'alert_type' | 'facts'> & { readonly result_id: string | null };

// Inlined into the statements: SQLite uses a partial index only if it sees the exact condition.
const inProgress = sql.lit('IN_PROGRESS' as const);

/**
 * Notifications of channels and their outcomes. Notifications of one check to one channel are sent in order: none is
 * tried while an earlier one is in progress, so that no recovery overtakes its failure. Those held by quiet hours block
 * no others: only the last of them is sent.
 */
export class AlertNotifications extends Repository {
  async insert(
    rows: readonly (Omit<
      AlertNotificationRow,
      'position' | 'sent' | 'refused' | 'held_until' | 'failed_tries' | 'former_channel_id'
    > & { readonly former_channel_id?: string })[],
  ): Promise<void> {
    const known = new ReceiverIncidents(this.db, this.dialect);
    for (const batch of batches(await known.record(rows))) {
      await this.db
        .insertInto('alert_notifications')
        .values(batch)
        .onConflict((conflict) => conflict.columns(['alert_id', 'channel_id']).doNothing())
        .execute();
    }
  }

  /** Due notifications, oldest first, except those of crowded channels and accounts. */
  async due(now: number, limit: number, crowd: Crowd): Promise<DueNotification[]> {
    return this.#open(crowd)
      .select(['position', 'channel_id', 'account_id'])
      .where('next_at', '<=', now)
      .orderBy('next_at')
      .orderBy('position')
      .limit(limit)
      .execute();
  }

  /** Takes notifications that no other process has taken, until `until`. Must be called in a transaction. */
  async claim(positions: readonly number[], now: number, until: number): Promise<AlertNotificationRow[]> {
    if (positions.length === 0) return [];
    const picked = await this.#open(nobody)
      .select('position')
      .where('position', 'in', positions)
      .where('next_at', '<=', now)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
    if (picked.length === 0) return [];
    const rows = await this.db
      .updateTable('alert_notifications')
      .set((eb) => ({ next_at: until, last_try: now, tries: eb('tries', '+', 1) }))
      .where(
        'position',
        'in',
        picked.map(({ position }) => position),
      )
      .where('status', '=', inProgress)
      .returningAll()
      .execute();
    return rows.sort((left, right) => left.position - right.position);
  }

  /** When the next notification outside the crowd is due, or null. */
  async nextDueAt(crowd: Crowd = nobody): Promise<number | null> {
    const row = await this.#open(crowd)
      .select((eb) => eb.fn.min('next_at').as('at'))
      .executeTakeFirst();
    return row?.at ?? null;
  }

  #open({ channelIds, accountIds }: Crowd) {
    let query = this.db
      .selectFrom('alert_notifications')
      .where('status', '=', inProgress)
      .where(this.#isFirst());
    if (channelIds.length > 0) query = query.where('channel_id', 'not in', channelIds);
    if (accountIds.length > 0) query = query.where('account_id', 'not in', accountIds);
    return query;
  }

  #isFirst(): RawBuilder<boolean> {
    return sql<boolean>`not exists (select 1 from alert_notifications as earlier
      where earlier.status = ${inProgress}
        and earlier.channel_id = alert_notifications.channel_id
        and earlier.check_id = alert_notifications.check_id
        and earlier.held_until is null
        and earlier.position < alert_notifications.position)`;
  }

  /** A notification by its id, which only its receivers know. */
  async find(id: string): Promise<AlertNotificationRow | undefined> {
    return this.db.selectFrom('alert_notifications').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Notification of a channel about an alert. */
  async ofAlert(alertId: string, channelId: number): Promise<AlertNotificationRow | undefined> {
    return this.db
      .selectFrom('alert_notifications')
      .selectAll()
      .where('alert_id', '=', alertId)
      .where('channel_id', '=', channelId)
      .executeTakeFirst();
  }

  /** Latest notifications about failures of the given checks since an instant, oldest first. */
  async ofOpenAlerts(accountId: string, checkIds: readonly string[], since: number): Promise<NotifiedRow[]> {
    const base = this.db
      .selectFrom('alert_notifications as sent')
      .innerJoin('alerts', 'alerts.id', 'sent.alert_id')
      .select([
        'sent.position',
        'sent.channel_id',
        'sent.channel_type',
        'sent.status',
        'sent.config',
        'sent.created',
      ])
      .where('sent.account_id', '=', accountId)
      .where('sent.created', '>=', since)
      .where('alerts.notice', 'in', ['failure', 'degraded'])
      .orderBy('sent.position', 'desc')
      .limit(mostOfOpenAlerts);
    const own = await base
      .select('alerts.check_id as concerns')
      .where(this.dialect.inList('alerts.check_id', checkIds))
      .execute();
    const ofCause = await base
      .innerJoin('alert_cause_members as member', 'member.cause_id', 'alerts.cause_id')
      .select('member.check_id as concerns')
      .where(this.dialect.inList('member.check_id', checkIds))
      .execute();
    return [...own, ...ofCause].sort((left, right) => left.position - right.position);
  }

  /** Latest notifications of a channel about a check, oldest first. */
  async ofCheckAndChannel(checkId: string, channelId: number): Promise<AlertNotificationRow[]> {
    const rows = await this.db
      .selectFrom('alert_notifications')
      .selectAll()
      .where('channel_id', '=', channelId)
      .where('check_id', '=', checkId)
      .orderBy('position', 'desc')
      .limit(lookedBack)
      .execute();
    return rows.reverse();
  }

  /** Ends a notification; false if another process has taken it over meanwhile. */
  async end(
    row: Pick<AlertNotificationRow, 'position' | 'tries'>,
    status: Exclude<NotificationStatus, 'IN_PROGRESS'>,
    result: string,
    now: number,
  ): Promise<boolean> {
    const done = await this.db
      .updateTable('alert_notifications')
      .set({ status, result, ended: now })
      .where('position', '=', row.position)
      .where('tries', '=', row.tries)
      .where('status', '=', inProgress)
      .executeTakeFirst();
    return done.numUpdatedRows > 0n;
  }

  /** Stores how many requests of a notification are done, and the messages for those that were refused. */
  async recordProgress(
    row: Pick<AlertNotificationRow, 'position' | 'tries'>,
    sent: number,
    refused: readonly string[],
  ): Promise<void> {
    await this.db
      .updateTable('alert_notifications')
      .set({ sent, refused: refused.length === 0 ? null : JSON.stringify(refused) })
      .where('position', '=', row.position)
      .where('tries', '=', row.tries)
      .where('status', '=', inProgress)
      .execute();
  }

  /** Schedules a notification to be tried again later; `tries` is its new count. */
  async postpone(
    row: Pick<AlertNotificationRow, 'position' | 'tries'>,
    change: Pick<AlertNotificationRow, 'next_at' | 'tries' | 'failed_tries' | 'result'>,
  ): Promise<void> {
    await this.db
      .updateTable('alert_notifications')
      .set(change)
      .where('position', '=', row.position)
      .where('tries', '=', row.tries)
      .where('status', '=', inProgress)
      .execute();
  }

  /** Holds a notification until an instant; this does not count as an attempt. */
  async hold(
    row: Pick<AlertNotificationRow, 'position' | 'tries'>,
    until: number,
    result: string,
  ): Promise<void> {
    await this.db
      .updateTable('alert_notifications')
      .set({ next_at: until, held_until: until, tries: row.tries - 1, result })
      .where('position', '=', row.position)
      .where('tries', '=', row.tries)
      .where('status', '=', inProgress)
      .execute();
  }

  /** Number of other notifications of a channel tried since an instant. */
  async triedSince(channelId: number, since: number, except: number): Promise<number> {
    const row = await this.db
      .selectFrom('alert_notifications')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('channel_id', '=', channelId)
      .where('last_try', '>', since)
      .where('position', '!=', except)
      .where('tries', '>', 0)
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  }

  /** A page of notifications, newest first. */
  async list(
    filter: NotificationFilter,
    page: Page,
  ): Promise<{ total: number; notifications: ListedNotification[] }> {
    let query = this.db
      .selectFrom('alert_notifications')
      .innerJoin('alerts', 'alerts.id', 'alert_notifications.alert_id')
      .where('alert_notifications.account_id', '=', filter.accountId)
      .where('alert_notifications.created', '>=', filter.from)
      .where('alert_notifications.created', '<', filter.to);
    if (filter.channelId !== undefined) query = query.where('channel_id', '=', filter.channelId);
    if (filter.hasFailures !== undefined) {
      const failure: Notice = 'failure';
      query = query.where('alerts.notice', filter.hasFailures ? '=' : '!=', failure);
    }
    const ordered = query
      .selectAll('alert_notifications')
      .select(['alerts.alert_type', 'alerts.facts', 'alerts.result_id'])
      .orderBy('alert_notifications.position', 'desc');
    const { total, rows: notifications } = await readPage(ordered, page);
    return { total, notifications };
  }
}
