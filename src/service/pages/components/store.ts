import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { isBehind } from '@picket/platform/store/engine/queries.ts';
import type { Cursor } from '@picket/protocol/http/cursor.ts';
import type { ComponentRow } from '../tables.ts';

/** Components of status pages. */
export class StatusPageComponents extends accountTable<ComponentRow>()({
  name: 'status_page_components',
  key: 'id',
}) {
  /** Components of a page in order, including nested ones. */
  async ofPage(pageId: string): Promise<ComponentRow[]> {
    return this.db
      .selectFrom('status_page_components')
      .selectAll()
      .where('status_page_id', '=', pageId)
      .orderBy('display_order')
      .orderBy('created')
      .orderBy('id')
      .execute();
  }

  /** Components of a page of an account, newest first, after a cursor. */
  async listOfPage(
    accountId: string,
    pageId: string,
    limit: number,
    cursor: Cursor | undefined,
  ): Promise<ComponentRow[]> {
    let query = this.db
      .selectFrom('status_page_components')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('status_page_id', '=', pageId);
    if (cursor) query = query.where(isBehind(cursor));
    return query.orderBy('created', 'desc').orderBy('id', 'desc').limit(limit).execute();
  }

  /** Components of the account among the given ids, locked so that none is deleted before this transaction ends. */
  async findMany(accountId: string, ids: readonly string[]): Promise<Map<string, ComponentRow>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('status_page_components')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .orderBy('id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Moves the children of a component to another component, or to the top level of the page. */
  async moveChildren(id: string, parentId: string | null): Promise<void> {
    await this.db
      .updateTable('status_page_components')
      .set({ parent_id: parentId })
      .where('parent_id', '=', id)
      .execute();
  }
}
