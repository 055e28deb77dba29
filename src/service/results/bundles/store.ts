import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { CodeBundleRow } from '../tables.ts';

/** Which code bundles an account has, and how large they are; the bytes are in the artifact store. */
export class CodeBundles extends Repository {
  /**
   * Notes a bundle, unless those of its account would be more than the quota together. One that is there
   * already takes no more room. To be called in a transaction.
   */
  async add(row: CodeBundleRow, quotaBytes: number): Promise<'added' | 'known' | 'full'> {
    // The account's row is locked: two uploads at once count each other.
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

  async remove(accountId: string, key: string): Promise<void> {
    await this.db
      .deleteFrom('code_bundles')
      .where('account_id', '=', accountId)
      .where('key', '=', key)
      .execute();
  }
}
