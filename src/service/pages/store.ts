import type { Kysely } from 'kysely';
import type { Cursor } from '../../protocol/http/cursor.ts';
import type { ServiceRow } from '../incidents/tables.ts';
import type { Dialect } from '../store/engine/dialect.ts';
import { batches, isBehind } from '../store/engine/queries.ts';
import type { Tables } from '../tables.ts';
import type { StatusPageCardRow, StatusPageCardServiceRow, StatusPageRow } from './tables.ts';

/** Status pages and their cards. */
export class StatusPages {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  /** Fails with a unique violation when the URL or the domain is taken. */
  async insert(row: StatusPageRow): Promise<void> {
    await this.#db.insertInto('status_pages').values(row).execute();
  }

  /** Fails with a unique violation when the URL or the domain is taken. */
  async update({ id, ...row }: StatusPageRow): Promise<void> {
    await this.#db.updateTable('status_pages').set(row).where('id', '=', id).execute();
  }

  /** Whether there was such a page. */
  async delete(accountId: string, id: string): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('status_pages')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  async find(accountId: string, id: string): Promise<StatusPageRow | undefined> {
    return this.#one(accountId, id).executeTakeFirst();
  }

  /** The same, for a page this transaction is going to change. */
  async findForUpdate(accountId: string, id: string): Promise<StatusPageRow | undefined> {
    return this.#one(accountId, id).modifyEnd(this.#dialect.forUpdate).executeTakeFirst();
  }

  #one(accountId: string, id: string) {
    return this.#db
      .selectFrom('status_pages')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId);
  }

  /** Of any account: the page with this URL, or else with this domain, in lower case. */
  async findByAddress(address: string): Promise<StatusPageRow | undefined> {
    const rows = await this.#db
      .selectFrom('status_pages')
      .selectAll()
      .where((eb) => eb.or([eb('url', '=', address), eb('custom_domain', '=', address)]))
      .execute();
    return rows.find((row) => row.url === address) ?? rows[0];
  }

  /** An account's pages, newest first, from behind a cursor. */
  async list(accountId: string, limit: number, cursor?: Cursor): Promise<StatusPageRow[]> {
    let query = this.#db.selectFrom('status_pages').selectAll().where('account_id', '=', accountId);
    if (cursor) query = query.where(isBehind(cursor));
    return query.orderBy('created', 'desc').orderBy('id', 'desc').limit(limit).execute();
  }

  /** Some of an account's pages, or all of them. */
  async findMany(accountId: string, ids?: readonly string[]): Promise<StatusPageRow[]> {
    let query = this.#db.selectFrom('status_pages').selectAll().where('account_id', '=', accountId);
    if (ids) query = query.where(this.#dialect.inList('id', ids));
    return query.orderBy('id').execute();
  }

  /** The pages that show any of some services. */
  async showing(serviceIds: readonly string[]): Promise<StatusPageRow[]> {
    if (serviceIds.length === 0) return [];
    return this.#db
      .selectFrom('status_pages')
      .selectAll()
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('status_page_cards')
          .innerJoin('status_page_card_services', 'status_page_card_services.card_id', 'status_page_cards.id')
          .select('status_page_cards.status_page_id')
          .where(this.#dialect.inList('status_page_card_services.service_id', serviceIds)),
      )
      .orderBy('id')
      .execute();
  }

  /** The cards of some pages, in order. */
  async cards(pageIds: readonly string[]): Promise<StatusPageCardRow[]> {
    if (pageIds.length === 0) return [];
    return this.#db
      .selectFrom('status_page_cards')
      .selectAll()
      .where(this.#dialect.inList('status_page_id', pageIds))
      .orderBy('position')
      .execute();
  }

  /** The services of some cards, in order. */
  async cardServices(cardIds: readonly string[]): Promise<(ServiceRow & { card_id: string })[]> {
    if (cardIds.length === 0) return [];
    return this.#db
      .selectFrom('status_page_card_services')
      .innerJoin('services', 'services.id', 'status_page_card_services.service_id')
      .selectAll('services')
      .select('status_page_card_services.card_id')
      .where(this.#dialect.inList('status_page_card_services.card_id', cardIds))
      .orderBy('status_page_card_services.position')
      .execute();
  }

  /** Puts other cards in place of those of a page. */
  async replaceCards(
    pageId: string,
    cards: readonly StatusPageCardRow[],
    services: readonly StatusPageCardServiceRow[],
  ): Promise<void> {
    await this.#db.deleteFrom('status_page_cards').where('status_page_id', '=', pageId).execute();
    for (const batch of batches(cards)) {
      await this.#db.insertInto('status_page_cards').values(batch).execute();
    }
    for (const batch of batches(services)) {
      await this.#db.insertInto('status_page_card_services').values(batch).execute();
    }
  }
}
