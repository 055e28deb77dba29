import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { CustomDomainRow } from './tables.ts';

/** The page that a host name belongs to. */
export type DomainOwner =
  | { readonly status_page_id: string; readonly dashboard_id: null }
  | { readonly status_page_id: null; readonly dashboard_id: string };

/** What a look for the proof of a name found. */
export type DomainFinding = Pick<CustomDomainRow, 'method' | 'problem' | 'checked' | 'failing_since'>;

/**
 * The host names that pages answer at: one table for pages of every kind and account, so that its key keeps two of
 * them from having one name, however many processes write at once.
 */
export class CustomDomains extends Repository {
  async find(host: string): Promise<CustomDomainRow | undefined> {
    return this.db.selectFrom('custom_domains').selectAll().where('host', '=', host).executeTakeFirst();
  }

  /** Those of some pages. */
  async ofHosts(hosts: readonly string[]): Promise<CustomDomainRow[]> {
    if (hosts.length === 0) return [];
    return this.db
      .selectFrom('custom_domains')
      .selectAll()
      .where(this.dialect.inList('host', hosts))
      .execute();
  }

  /** Of all accounts. */
  async all(): Promise<CustomDomainRow[]> {
    return this.db.selectFrom('custom_domains').selectAll().orderBy('host').execute();
  }

  /** The names that a page has, other than one. */
  async release(owner: DomainOwner, except: string | null): Promise<void> {
    let query = this.db.deleteFrom('custom_domains');
    query =
      owner.status_page_id === null
        ? query.where('dashboard_id', '=', owner.dashboard_id)
        : query.where('status_page_id', '=', owner.status_page_id);
    if (except !== null) query = query.where('host', '!=', except);
    await query.execute();
  }

  /** Whether the name was free: the key of the table decides, also between transactions at the same time. */
  async claim(row: CustomDomainRow): Promise<boolean> {
    const done = await this.db
      .insertInto('custom_domains')
      .values(row)
      .onConflict((conflict) => conflict.column('host').doNothing())
      .executeTakeFirst();
    return (done.numInsertedOrUpdatedRows ?? 0n) > 0n;
  }

  /** Takes a name from a page that never proved it before some time; whether there was one. */
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

  /** Keeps what a look found, unless the name passed to another page meanwhile. */
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
