import { type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { SloBurnRow } from './tables.ts';

/** Active burns of all objectives. */
export class SloBurns extends Repository {
  async all(): Promise<SloBurnRow[]> {
    return this.db.selectFrom('slo_burns').selectAll().orderBy('slo_id').execute();
  }

  /** A page of the burns of an account, newest first. */
  async list(accountId: string, page: Page): Promise<{ total: number; rows: SloBurnRow[] }> {
    const query = this.db
      .selectFrom('slo_burns')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('since', 'desc')
      .orderBy('slo_id');
    return readPage(query, page);
  }

  async find(accountId: string, sloId: number): Promise<SloBurnRow | undefined> {
    return this.db
      .selectFrom('slo_burns')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('slo_id', '=', sloId)
      .executeTakeFirst();
  }

  /** Begins a burn; false if it is already active. */
  async begin(row: SloBurnRow): Promise<boolean> {
    const inserted = await this.db
      .insertInto('slo_burns')
      .values(row)
      .onConflict((conflict) => conflict.column('slo_id').doNothing())
      .returning('slo_id')
      .execute();
    return inserted.length > 0;
  }

  /** Ends a burn; false if it is already over. */
  async end({ slo_id, alert_id }: Pick<SloBurnRow, 'slo_id' | 'alert_id'>): Promise<boolean> {
    const deleted = await this.db
      .deleteFrom('slo_burns')
      .where('slo_id', '=', slo_id)
      .where('alert_id', '=', alert_id)
      .returning('slo_id')
      .execute();
    return deleted.length > 0;
  }

  /** Number of active burns by account. */
  async countByAccount(accountId?: string): Promise<{ account: string; count: number }[]> {
    let query = this.db
      .selectFrom('slo_burns')
      .select((eb) => ['account_id as account', eb.fn.countAll<number>().as('count')]);
    if (accountId !== undefined) query = query.where('account_id', '=', accountId);
    const rows = await query.groupBy('account_id').execute();
    return rows.map(({ account, count }) => ({ account, count: Number(count) }));
  }
}
