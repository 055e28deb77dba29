import type { Kysely } from 'kysely';
import type { Dialect } from '../../store/engine/dialect.ts';
import { type Page, readPage } from '../../store/engine/queries.ts';
import type { Tables } from '../../tables.ts';
import type { ClientCertificateRow } from '../tables.ts';

/** The client certificates of accounts. They are made and deleted, never changed. */
export class ClientCertificates {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  async insert(row: ClientCertificateRow): Promise<void> {
    await this.#db.insertInto('client_certificates').values(row).execute();
  }

  /** Whether there was such a certificate. */
  async delete(accountId: string, id: string): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('client_certificates')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  async find(accountId: string, id: string): Promise<ClientCertificateRow | undefined> {
    return this.#db
      .selectFrom('client_certificates')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
  }

  /** A page of an account's certificates, newest first. */
  async list(accountId: string, page: Page): Promise<{ total: number; rows: ClientCertificateRow[] }> {
    const ordered = this.#db
      .selectFrom('client_certificates')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('created', 'desc')
      .orderBy('id', 'desc');
    return readPage(ordered, page);
  }

  /** All certificates of some accounts, newest first: of several that fit a host the newest wins. */
  async ofAccounts(accountIds: readonly string[]): Promise<ClientCertificateRow[]> {
    if (accountIds.length === 0) return [];
    return this.#db
      .selectFrom('client_certificates')
      .selectAll()
      .where(this.#dialect.inList('account_id', accountIds))
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .execute();
  }
}
