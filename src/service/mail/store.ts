import { batches } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { Insertable, Selectable } from 'kysely';
import type { SubscriberMailRow } from './tables.ts';

export type SubscriberMailItem = Selectable<SubscriberMailRow>;

/** Pending mails to subscribers. */
export class SubscriberMails extends Repository {
  async insert(rows: readonly Insertable<SubscriberMailRow>[]): Promise<void> {
    for (const batch of batches(rows)) {
      await this.db.insertInto('subscriber_mails').values(batch).execute();
    }
  }

  /** When the next mail is due, or null. */
  async nextDueAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('subscriber_mails')
      .select((eb) => eb.fn.min('next_at').as('at'))
      .executeTakeFirst();
    return row?.at ?? null;
  }

  /** Accounts with due mails. */
  async dueAccounts(now: number): Promise<string[]> {
    const rows = await this.db
      .selectFrom('subscriber_mails')
      .select('account_id')
      .distinct()
      .where('next_at', '<=', now)
      .execute();
    return rows.map(({ account_id: accountId }) => accountId);
  }

  /** Claims due mails of an account, oldest first, within a transaction. Other processes skip them until `until`. */
  async claim(accountId: string, now: number, limit: number, until: number): Promise<SubscriberMailItem[]> {
    const rows = await this.db
      .selectFrom('subscriber_mails')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('next_at', '<=', now)
      .orderBy('next_at')
      .orderBy('position')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
    for (const { position } of rows) {
      await this.db
        .updateTable('subscriber_mails')
        .set((eb) => ({ next_at: until, tries: eb('tries', '+', 1) }))
        .where('position', '=', position)
        .execute();
    }
    return rows.map((row) => ({ ...row, tries: row.tries + 1, next_at: until }));
  }

  async postpone(position: number, nextAt: number): Promise<void> {
    await this.db
      .updateTable('subscriber_mails')
      .set({ next_at: nextAt })
      .where('position', '=', position)
      .execute();
  }

  async remove(position: number): Promise<void> {
    await this.db.deleteFrom('subscriber_mails').where('position', '=', position).execute();
  }
}
