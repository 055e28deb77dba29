import { type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { CodeBundleRow } from '../tables.ts';

/** Code bundles of an account and their sizes; the bytes are in the artifact store. */
export class CodeBundles extends Repository {
  /**
   * Registers a bundle, unless the bundles of its account would then exceed the quota. An existing bundle takes no
   * additional space. Must be called in a transaction.
   */
  async add(row: CodeBundleRow, quotaBytes: number): Promise<'added' | 'known' | 'full'> {
    // The row of the account is locked, so that concurrent uploads count each other.
    await this.db
      .selectFrom('accounts')
      .select('id')
      .where('id', '=', row.account_id)
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    const others = await this.db
      .selectFrom('code_bundles')
      .select((eb) => eb.fn.sum<number | null>('size_bytes').as('bytes'))
      .where('account_id', '=', row.account_id)
      .where('key', '!=', row.key)
      .executeTakeFirst();
    if (Number(others?.bytes ?? 0) + row.size_bytes > quotaBytes) return 'full';
    const done = await this.db
      .insertInto('code_bundles')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return Number(done.numInsertedOrUpdatedRows) > 0 ? 'added' : 'known';
  }

  /** Returns a page of the bundles of an account, newest first. */
  async list(accountId: string, page: Page): Promise<{ total: number; rows: CodeBundleRow[] }> {
    const query = this.db
      .selectFrom('code_bundles')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('created', 'desc')
      .orderBy('key');
    return readPage(query, page);
  }

  async remove(accountId: string, key: string): Promise<void> {
    await this.db
      .deleteFrom('code_bundles')
      .where('account_id', '=', accountId)
      .where('key', '=', key)
      .execute();
  }
}
