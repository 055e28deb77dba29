import type { Kysely } from 'kysely';
import type { Cursor } from '../../protocol/http/cursor.ts';
import type { Dialect } from '../store/engine/dialect.ts';
import { batches, isBehind } from '../store/engine/queries.ts';
import type { Tables } from '../tables.ts';
import type { SubscriptionRow } from './tables.ts';

/** Who hears of the incidents of status pages. */
export class Subscriptions {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  /** Adds those whose address is not subscribed to the page yet; returns how many. */
  async insertNew(rows: readonly SubscriptionRow[]): Promise<number> {
    let inserted = 0;
    for (const batch of batches(rows)) {
      const done = await this.#db
        .insertInto('status_page_subscriptions')
        .values(batch)
        .onConflict((conflict) => conflict.columns(['status_page_id', 'type', 'address']).doNothing())
        .executeTakeFirst();
      inserted += Number(done.numInsertedOrUpdatedRows ?? 0n);
    }
    return inserted;
  }

  /** A page's subscriptions, newest first, from behind a cursor. */
  async list(pageId: string, limit: number, cursor?: Cursor): Promise<SubscriptionRow[]> {
    let query = this.#db
      .selectFrom('status_page_subscriptions')
      .selectAll()
      .where('status_page_id', '=', pageId);
    if (cursor) query = query.where(isBehind(cursor));
    return query.orderBy('created', 'desc').orderBy('id', 'desc').limit(limit).execute();
  }

  /** Those of some pages that are to be mailed. */
  async verified(pageIds: readonly string[]): Promise<SubscriptionRow[]> {
    if (pageIds.length === 0) return [];
    return this.#db
      .selectFrom('status_page_subscriptions')
      .selectAll()
      .where(this.#dialect.inList('status_page_id', pageIds))
      .where('status', '=', 'VERIFIED')
      .orderBy('status_page_id')
      .orderBy('created')
      .orderBy('id')
      .execute();
  }

  /** Whether there was such a subscription. */
  async delete(pageId: string, id: string): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('status_page_subscriptions')
      .where('id', '=', id)
      .where('status_page_id', '=', pageId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  /** Whether there was a subscription with this token. */
  async deleteByToken(token: string): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('status_page_subscriptions')
      .where('token', '=', token)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }
}
