import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { CustomDomainRow } from './tables.ts';

/** The page that a host name belongs to. */
export type DomainOwner =
  | { readonly status_page_id: string; readonly dashboard_id: null }
  | { readonly status_page_id: null; readonly dashboard_id: string };

/** Outcome of a check of a name's proof. */
export type DomainFinding = Pick<CustomDomainRow, 'method' | 'problem' | 'checked' | 'failing_since'>;

/**
 * Host names of pages: one table for pages of every kind and account, so that its primary key prevents two pages from
 * having the same name, however many processes write at once.
 */
export class CustomDomains extends Repository {
  async find(host: string): Promise<CustomDomainRow | undefined> {
    return this.db.selectFrom('custom_domains').selectAll().where('host', '=', host).executeTakeFirst();
  }

  /** Rows of the given hosts. */
  async ofHosts(hosts: readonly string[]): Promise<CustomDomainRow[]> {
    if (hosts.length === 0) return [];
    return this.db
      .selectFrom('custom_domains')
      .selectAll()
      .where(this.dialect.inList('host', hosts))
      .execute();
  }

  /** Domains of all accounts. */
  async all(): Promise<CustomDomainRow[]> {
    return this.db.selectFrom('custom_domains').selectAll().orderBy('host').execute();
  }

  /** Releases the names of a page, except one. */
  async release(owner: DomainOwner, except: string | null): Promise<void> {
    let query = this.db.deleteFrom('custom_domains');
    query =
      owner.status_page_id === null
        ? query.where('dashboard_id', '=', owner.dashboard_id)
        : query.where('status_page_id', '=', owner.status_page_id);
    if (except !== null) query = query.where('host', '!=', except);
    await query.execute();
  }

  /** Returns whether the name was free: the primary key decides, also between concurrent transactions. */
  async claim(row: CustomDomainRow): Promise<boolean> {
    const done = await this.db
      .insertInto('custom_domains')
      .values(row)
      .onConflict((conflict) => conflict.column('host').doNothing())
      .executeTakeFirst();
    return (done.numInsertedOrUpdatedRows ?? 0n) > 0n;
  }

  /** Removes a name from a page that did not prove it in time; returns whether one was removed. */
  async lapse(host: string, createdBefore: number): Promise<boolean> {
    const gone = await this.db
      .deleteFrom('custom_domains')
      .where('host', '=', host)
      .where('method', 'is', null)
      .where('created', '<', createdBefore)
      .executeTakeFirst();
    if (gone.numDeletedRows === 0n) return false;
    for (const table of ['status_pages', 'dashboards'] as const) {
      await this.db
        .updateTable(table)
        .set({ custom_domain: null })
        .where('custom_domain', '=', host)
        .execute();
    }
    return true;
  }

  /** Stores the outcome of a check, unless the name has passed to another page meanwhile. */
  async found(
    { host, created }: Pick<CustomDomainRow, 'host' | 'created'>,
    found: DomainFinding,
  ): Promise<void> {
    await this.db
      .updateTable('custom_domains')
      .set(found)
      .where('host', '=', host)
      .where('created', '=', created)
      .execute();
  }
}
