import type { Kysely } from 'kysely';
import type { Dialect } from '../../store/engine/dialect.ts';
import { type Page, readPage } from '../../store/engine/queries.ts';
import type { Tables } from '../../tables.ts';
import type { VariableRow } from '../tables.ts';

/** The variables of accounts. */
export class Variables {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  /** Fails with a unique violation when the account has one of that key. */
  async insert(row: VariableRow): Promise<void> {
    await this.#db.insertInto('variables').values(row).execute();
  }

  async update(row: VariableRow): Promise<void> {
    const { account_id, key, ...changes } = row;
    await this.#db
      .updateTable('variables')
      .set(changes)
      .where('account_id', '=', account_id)
      .where('key', '=', key)
      .execute();
  }

  /** Whether there was such a variable. */
  async delete(accountId: string, key: string): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('variables')
      .where('account_id', '=', accountId)
      .where('key', '=', key)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  async find(accountId: string, key: string): Promise<VariableRow | undefined> {
    return this.#one(accountId, key).executeTakeFirst();
  }

  /** The same, for a variable this transaction is going to change. */
  async findForUpdate(accountId: string, key: string): Promise<VariableRow | undefined> {
    return this.#one(accountId, key).modifyEnd(this.#dialect.forUpdate).executeTakeFirst();
  }

  #one(accountId: string, key: string) {
    return this.#db
      .selectFrom('variables')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('key', '=', key);
  }

  /** A page of an account's variables, by key. */
  async list(accountId: string, page: Page): Promise<{ total: number; rows: VariableRow[] }> {
    const ordered = this.#db
      .selectFrom('variables')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('key');
    return readPage(ordered, page);
  }

  /** All variables of some accounts. */
  async ofAccounts(accountIds: readonly string[]): Promise<VariableRow[]> {
    if (accountIds.length === 0) return [];
    return this.#db
      .selectFrom('variables')
      .selectAll()
      .where(this.#dialect.inList('account_id', accountIds))
      .execute();
  }
}
