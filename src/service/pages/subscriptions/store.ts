import { batches, isBehind } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { Cursor } from '@picket/protocol/http/cursor.ts';
import type { SubscriptionRow } from '../tables.ts';

/** Subscribers to the incidents of status pages. */
export class Subscriptions extends Repository {
  /** Adds subscriptions whose address is not yet subscribed to the page; returns the number added. */
  async insertNew(rows: readonly SubscriptionRow[]): Promise<number> {
    let inserted = 0;
    for (const batch of batches(rows)) {
      const done = await this.db
        .insertInto('status_page_subscriptions')
        .values(batch)
        .onConflict((conflict) => conflict.columns(['status_page_id', 'type', 'address']).doNothing())
        .executeTakeFirst();
      inserted += Number(done.numInsertedOrUpdatedRows ?? 0n);
    }
    return inserted;
  }

  /** Subscriptions of a page, newest first, after a cursor. */
  async list(pageId: string, limit: number, cursor?: Cursor): Promise<SubscriptionRow[]> {
    let query = this.db
      .selectFrom('status_page_subscriptions')
      .selectAll()
      .where('status_page_id', '=', pageId);
    if (cursor) query = query.where(isBehind(cursor));
    return query.orderBy('created', 'desc').orderBy('id', 'desc').limit(limit).execute();
  }

  /** The subscription of an address to a page. */
  async ofAddress(pageId: string, address: string): Promise<SubscriptionRow | undefined> {
    return this.db
      .selectFrom('status_page_subscriptions')
      .selectAll()
      .where('status_page_id', '=', pageId)
      .where('address', '=', address)
      .executeTakeFirst();
  }

  /** Records that the confirmation mail was sent again. */
  async askedAgain(id: string, now: number): Promise<void> {
    await this.db
      .updateTable('status_page_subscriptions')
      .set({ updated: now })
      .where('id', '=', id)
      .execute();
  }

  /**
   * Confirms the subscription with a token. A confirmed one stays confirmed. Returns whether there is one that was
   * requested since an instant, or was already confirmed.
   */
  async confirm(token: string, since: number, now: number): Promise<boolean> {
    const row = await this.db
      .selectFrom('status_page_subscriptions')
      .selectAll()
      .where('token', '=', token)
      .executeTakeFirst();
    if (!row) return false;
    if (row.status === 'VERIFIED') return true;
    const done = await this.db
      .updateTable('status_page_subscriptions')
      .set({ status: 'VERIFIED', updated: now })
      .where('id', '=', row.id)
      .where((eb) => eb(eb.fn.coalesce('updated', 'created'), '>=', since))
      .executeTakeFirst();
    return done.numUpdatedRows > 0n;
  }

  /** Deletes unconfirmed subscriptions that were requested before an instant; returns the number deleted. */
  async deleteUnconfirmed(before: number): Promise<number> {
    const done = await this.db
      .deleteFrom('status_page_subscriptions')
      .where('status', '=', 'PENDING')
      .where((eb) => eb(eb.fn.coalesce('updated', 'created'), '<', before))
      .executeTakeFirst();
    return Number(done.numDeletedRows);
  }

  /** Number of pending requests for an address since an instant, across all pages. */
  async pendingSince(address: string, since: number): Promise<number> {
    const row = await this.db
      .selectFrom('status_page_subscriptions')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('address', '=', address)
      .where('status', '=', 'PENDING')
      .where((eb) => eb(eb.fn.coalesce('updated', 'created'), '>', since))
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  }

  /** Deletes the oldest pending subscription of a page if requested before an instant; returns whether it did. */
  async dropOldestPending(pageId: string, before: number): Promise<boolean> {
    const oldest = await this.db
      .selectFrom('status_page_subscriptions')
      .select('id')
      .where('status_page_id', '=', pageId)
      .where('status', '=', 'PENDING')
      .where((eb) => eb(eb.fn.coalesce('updated', 'created'), '<=', before))
      .orderBy('created')
      .limit(1)
      .executeTakeFirst();
    if (!oldest) return false;
    await this.db.deleteFrom('status_page_subscriptions').where('id', '=', oldest.id).execute();
    return true;
  }

  /** Number of subscriptions of a page by status. */
  async counts(pageId: string): Promise<Readonly<Record<SubscriptionRow['status'], number>>> {
    const rows = await this.db
      .selectFrom('status_page_subscriptions')
      .select(['status', (eb) => eb.fn.countAll<number>().as('count')])
      .where('status_page_id', '=', pageId)
      .groupBy('status')
      .execute();
    const count = (status: SubscriptionRow['status']) =>
      Number(rows.find((row) => row.status === status)?.count ?? 0);
    return { PENDING: count('PENDING'), VERIFIED: count('VERIFIED') };
  }

  /** Verified subscriptions of the given pages. */
  async verified(pageIds: readonly string[]): Promise<SubscriptionRow[]> {
    if (pageIds.length === 0) return [];
    return this.db
      .selectFrom('status_page_subscriptions')
      .selectAll()
      .where(this.dialect.inList('status_page_id', pageIds))
      .where('status', '=', 'VERIFIED')
      .orderBy('status_page_id')
      .orderBy('created')
      .orderBy('id')
      .execute();
  }

  /** Returns whether the subscription existed. */
  async delete(pageId: string, id: string): Promise<boolean> {
    const done = await this.db
      .deleteFrom('status_page_subscriptions')
      .where('id', '=', id)
      .where('status_page_id', '=', pageId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  /** Returns whether a subscription had this token. */
  async deleteByToken(token: string): Promise<boolean> {
    const done = await this.db
      .deleteFrom('status_page_subscriptions')
      .where('token', '=', token)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }
}
