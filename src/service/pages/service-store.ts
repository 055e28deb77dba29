import type { Kysely } from 'kysely';
import type { Cursor } from '../../protocol/http/cursor.ts';
import type { ServiceRow } from '../incidents/tables.ts';
import type { Dialect } from '../store/engine/dialect.ts';
import { isBehind } from '../store/engine/queries.ts';
import type { Tables } from '../tables.ts';

/** The services that status pages show and incidents are about. */
export class Services {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  async insert(row: ServiceRow): Promise<void> {
    await this.#db.insertInto('services').values(row).execute();
  }

  /** Whether there was such a service. */
  async rename(accountId: string, id: string, name: string, now: number): Promise<boolean> {
    const done = await this.#db
      .updateTable('services')
      .set({ name, updated: now })
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return done.numUpdatedRows > 0n;
  }

  /** Whether there was such a service. */
  async delete(accountId: string, id: string): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('services')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  async find(accountId: string, id: string): Promise<ServiceRow | undefined> {
    return this.#db
      .selectFrom('services')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
  }

  /**
   * Of some ids, the services of the account, locked so that none is deleted before this transaction ends.
   */
  async findMany(accountId: string, ids: readonly string[]): Promise<Map<string, ServiceRow>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('services')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(this.#dialect.inList('id', [...new Set(ids)]))
      .orderBy('id')
      .modifyEnd(this.#dialect.forUpdate)
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** An account's services, newest first, from behind a cursor; all of them without a limit. */
  async list(accountId: string, limit?: number, cursor?: Cursor): Promise<ServiceRow[]> {
    let query = this.#db.selectFrom('services').selectAll().where('account_id', '=', accountId);
    if (cursor) query = query.where(isBehind(cursor));
    query = query.orderBy('created', 'desc').orderBy('id', 'desc');
    if (limit !== undefined) query = query.limit(limit);
    return query.execute();
  }
}
