import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import type { ServiceRow } from '../incidents/tables.ts';

/** Services that status pages show and incidents concern. */
export class Services extends accountTable<ServiceRow>()({ name: 'services', key: 'id' }) {
  /** Services of the account among the given ids, locked so that none is deleted before this transaction ends. */
  async findMany(accountId: string, ids: readonly string[]): Promise<Map<string, ServiceRow>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('services')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .orderBy('id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  }
}
