import type { Kysely, Selectable } from 'kysely';
import type { Dialect } from '../../store/engine/dialect.ts';
import { type Page, readPage } from '../../store/engine/queries.ts';
import type { Tables } from '../../tables.ts';
import type { SnippetRow } from '../tables.ts';

export type Snippet = Selectable<SnippetRow>;

/** Pieces of script that an account's checks share. */
export class Snippets {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  async insert(row: Omit<Snippet, 'id'>): Promise<Snippet> {
    return this.#db.insertInto('snippets').values(row).returningAll().executeTakeFirstOrThrow();
  }

  async update(row: Snippet): Promise<void> {
    const { name, script, updated } = row;
    await this.#db
      .updateTable('snippets')
      .set({ name, script, updated })
      .where('id', '=', row.id)
      .where('account_id', '=', row.account_id)
      .execute();
  }

  /** Whether there was such a snippet. */
  async delete(accountId: string, id: number): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('snippets')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  async find(accountId: string, id: number): Promise<Snippet | undefined> {
    return this.#one(accountId, id).executeTakeFirst();
  }

  /** The same, for a snippet this transaction is going to change. */
  async findForUpdate(accountId: string, id: number): Promise<Snippet | undefined> {
    return this.#one(accountId, id).modifyEnd(this.#dialect.forUpdate).executeTakeFirst();
  }

  #one(accountId: string, id: number) {
    return this.#db
      .selectFrom('snippets')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId);
  }

  /** A page of an account's snippets, newest first. */
  async list(accountId: string, page: Page): Promise<{ total: number; rows: Snippet[] }> {
    const ordered = this.#db
      .selectFrom('snippets')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('created', 'desc')
      .orderBy('id', 'desc');
    return readPage(ordered, page);
  }

  /** All snippets of some accounts, oldest first. */
  async ofAccounts(accountIds: readonly string[]): Promise<Snippet[]> {
    if (accountIds.length === 0) return [];
    return this.#db
      .selectFrom('snippets')
      .selectAll()
      .where(this.#dialect.inList('account_id', accountIds))
      .orderBy('id')
      .execute();
  }
}
