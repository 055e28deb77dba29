import { randomUUID } from 'node:crypto';
import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { batches } from '@picket/platform/store/engine/queries.ts';
import type { ServiceRow } from '../incidents/tables.ts';
import type {
  StatusPageCardRow,
  StatusPageCardServiceRow,
  StatusPageKeyRow,
  StatusPageRow,
} from './tables.ts';

/** Status pages and their cards. URLs and domains are unique. */
export class StatusPages extends accountTable<StatusPageRow>()({ name: 'status_pages', key: 'id' }) {
  /** The page, of any account, with this URL, or else with this domain, in lower case. */
  async findByAddress(address: string): Promise<StatusPageRow | undefined> {
    const rows = await this.db
      .selectFrom('status_pages')
      .selectAll()
      .where((eb) => eb.or([eb('url', '=', address), eb('custom_domain', '=', address)]))
      .execute();
    return rows.find((row) => row.url === address) ?? rows[0];
  }

  /** Pages of an account, all or those with the given ids. */
  async findMany(accountId: string, ids?: readonly string[]): Promise<StatusPageRow[]> {
    let query = this.db.selectFrom('status_pages').selectAll().where('account_id', '=', accountId);
    if (ids) query = query.where(this.dialect.inList('id', ids));
    return query.orderBy('id').execute();
  }

  /** Pages of all accounts. */
  async all(): Promise<StatusPageRow[]> {
    return this.db.selectFrom('status_pages').selectAll().orderBy('id').execute();
  }

  /** Pages of all accounts with a custom domain. */
  async withOwnHost(): Promise<{ url: string; custom_domain: string | null }[]> {
    return this.db
      .selectFrom('status_pages')
      .select(['url', 'custom_domain'])
      .where('custom_domain', 'is not', null)
      .execute();
  }

  /**
   * A text per account with pages that changes whenever data shown by its pages changes: services, components,
   * incidents, maintenance windows and their updates.
   */
  async changeSums(): Promise<Map<string, string>> {
    const parts = await Promise.all(
      (['services', 'status_page_components', 'incidents', 'maintenance_windows'] as const).map((name) =>
        this.#changes(name),
      ),
    );
    const updates = await this.db
      .selectFrom('maintenance_updates')
      .innerJoin('maintenance_windows', 'maintenance_windows.id', 'maintenance_updates.window_id')
      .select('maintenance_windows.account_id')
      .select((eb) => [eb.fn.countAll().as('count'), eb.fn.max('maintenance_updates.created').as('at')])
      .groupBy('maintenance_windows.account_id')
      .execute();
    const sums = new Map<string, string>();
    for (const { account_id: id, count, at } of [...parts.flat(), ...updates]) {
      sums.set(id, `${sums.get(id) ?? ''} ${count}:${at}`);
    }
    return sums;
  }

  async #changes(
    name: 'services' | 'status_page_components' | 'incidents' | 'maintenance_windows',
  ): Promise<{ account_id: string; count: unknown; at: unknown }[]> {
    return this.db
      .selectFrom(name)
      .select('account_id')
      .select((eb) => [
        eb.fn.countAll().as('count'),
        eb.fn.max(eb.fn.coalesce('updated', 'created')).as('at'),
      ])
      .where('account_id', 'in', (eb) => eb.selectFrom('status_pages').select('account_id'))
      .groupBy('account_id')
      .execute();
  }

  /** Pages that show any of the given services. */
  async showing(serviceIds: readonly string[]): Promise<StatusPageRow[]> {
    if (serviceIds.length === 0) return [];
    return this.db
      .selectFrom('status_pages')
      .selectAll()
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('status_page_cards')
          .innerJoin('status_page_card_services', 'status_page_card_services.card_id', 'status_page_cards.id')
          .select('status_page_cards.status_page_id')
          .where(this.dialect.inList('status_page_card_services.service_id', serviceIds)),
      )
      .orderBy('id')
      .execute();
  }

  async insertKey(id: string, keyHash: string, masked: string, now: number): Promise<void> {
    const row = { id: randomUUID(), status_page_id: id, key_hash: keyHash, masked, created: now };
    await this.db.insertInto('status_page_keys').values(row).execute();
  }

  async deleteKeys(id: string): Promise<void> {
    await this.db.deleteFrom('status_page_keys').where('status_page_id', '=', id).execute();
  }

  /** Keys of the given private pages. */
  async keys(ids: readonly string[]): Promise<StatusPageKeyRow[]> {
    if (ids.length === 0) return [];
    return this.db
      .selectFrom('status_page_keys')
      .selectAll()
      .where(this.dialect.inList('status_page_id', ids))
      .orderBy('created')
      .orderBy('id')
      .execute();
  }

  /** Cards of the given pages, in order. */
  async cards(pageIds: readonly string[]): Promise<StatusPageCardRow[]> {
    if (pageIds.length === 0) return [];
    return this.db
      .selectFrom('status_page_cards')
      .selectAll()
      .where(this.dialect.inList('status_page_id', pageIds))
      .orderBy('position')
      .execute();
  }

  /** Services of the given cards, in order. */
  async cardServices(cardIds: readonly string[]): Promise<(ServiceRow & { card_id: string })[]> {
    if (cardIds.length === 0) return [];
    return this.db
      .selectFrom('status_page_card_services')
      .innerJoin('services', 'services.id', 'status_page_card_services.service_id')
      .selectAll('services')
      .select('status_page_card_services.card_id')
      .where(this.dialect.inList('status_page_card_services.card_id', cardIds))
      .orderBy('status_page_card_services.position')
      .execute();
  }

  /** Replaces the cards of a page. */
  async replaceCards(
    pageId: string,
    cards: readonly StatusPageCardRow[],
    services: readonly StatusPageCardServiceRow[],
  ): Promise<void> {
    await this.db.deleteFrom('status_page_cards').where('status_page_id', '=', pageId).execute();
    for (const batch of batches(cards)) {
      await this.db.insertInto('status_page_cards').values(batch).execute();
    }
    for (const batch of batches(services)) {
      await this.db.insertInto('status_page_card_services').values(batch).execute();
    }
  }
}
