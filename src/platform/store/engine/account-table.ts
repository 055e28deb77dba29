import type { Cursor } from '@picket/protocol/http/cursor.ts';
import type { Insertable, Kysely, Selectable, SelectType, Updateable } from 'kysely';
import type { Tables } from '../tables.ts';
import type { Dialect } from './dialect.ts';
import { isBehind, type Page, readPage } from './queries.ts';
import { Repository } from './repository.ts';

/** The columns of every table whose rows belong to accounts. */
export interface AccountRow {
  account_id: string;
  created: number;
}

/** A table of rows that belong to accounts. */
export interface AccountTableShape<Name extends string, Row, Key extends keyof Row & string, Stored> {
  readonly name: Name;
  /** The column that identifies a row within its account, and appears in paths. */
  readonly key: Key;
  /** The order of lists; newest first if absent. */
  readonly order?: readonly Order<Row>[];
  /** Converts a row to the form that callers use. */
  readonly read: (row: Selectable<Row>) => Stored;
}

type Order<Row> = readonly [column: keyof Row & string, direction: 'asc' | 'desc'];

/** The key type of a row within its account. */
type KeyOf<Row, Key extends keyof Row & string> = SelectType<Row[Key]> & (string | number);

/** The key of a row and its changed columns. */
export type ChangedRow<Row, Key extends keyof Row & string> = { account_id: string } & {
  [Column in Key]: KeyOf<Row, Key>;
} & Omit<Updateable<Row>, Key | 'account_id'>;

/** The tables as this class treats them: with any name and any columns. */
type AnyTables = Record<string, Record<string, unknown>>;

/** Rows that belong to accounts, found by the account and their key. */
export class AccountTable<
  Name extends string,
  Row extends AccountRow,
  Key extends keyof Row & string,
  Stored extends object = Selectable<Row>,
> extends Repository {
  readonly shape: AccountTableShape<Name, Row, Key, Stored>;
  readonly #name: string;
  readonly #key: string;

  constructor(db: Kysely<Tables>, dialect: Dialect, shape: AccountTableShape<Name, Row, Key, Stored>) {
    super(db, dialect);
    this.shape = shape;
    this.#name = shape.name;
    this.#key = shape.key;
  }

  /** Fails with a unique violation when a unique value of the row is taken. */
  async insert(row: Insertable<Row>): Promise<Stored> {
    const inserted = await this.#tables
      .insertInto(this.#name)
      .values(row)
      .returningAll()
      .executeTakeFirstOrThrow();
    return this.#read(inserted);
  }

  /**
   * Changes the given columns of the row with this account and key; undefined if the row does not exist. Ids never
   * change. Fails with a unique violation when a unique value is taken.
   */
  async update(row: ChangedRow<Row, Key>): Promise<Stored | undefined> {
    const { id: _, account_id, [this.#key]: key, ...changes }: Record<string, unknown> = row;
    const changed = await this.#tables
      .updateTable(this.#name)
      .set(changes)
      .where('account_id', '=', account_id)
      .where(this.#key, '=', key)
      .returningAll()
      .executeTakeFirst();
    return changed && this.#read(changed);
  }

  /** Returns whether the row existed. */
  async delete(accountId: string, key: KeyOf<Row, Key>): Promise<boolean> {
    const done = await this.#tables
      .deleteFrom(this.#name)
      .where('account_id', '=', accountId)
      .where(this.#key, '=', key)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  async find(accountId: string, key: KeyOf<Row, Key>): Promise<Stored | undefined> {
    const row = await this.#one(accountId, key).executeTakeFirst();
    return row && this.#read(row);
  }

  /** The same, locking the row against changes and deletion until this transaction ends. */
  async findForUpdate(accountId: string, key: KeyOf<Row, Key>): Promise<Stored | undefined> {
    const row = await this.#one(accountId, key).modifyEnd(this.dialect.forUpdate).executeTakeFirst();
    return row && this.#read(row);
  }

  /** Locks rows of an account against changes until the transaction ends; several transactions may do so at once. */
  async keep(accountId: string, keys: readonly KeyOf<Row, Key>[]): Promise<void> {
    if (keys.length === 0) return;
    await this.#tables
      .selectFrom(this.#name)
      .select(this.#key)
      .where('account_id', '=', accountId)
      .where(this.#key, 'in', keys)
      .orderBy(this.#key)
      .modifyEnd(this.dialect.forShare)
      .execute();
  }

  /** Returns a page of an account's rows. */
  async list(accountId: string, page: Page): Promise<{ total: number; rows: Stored[] }> {
    const { total, rows } = await readPage(this.#ordered().where('account_id', '=', accountId), page);
    return { total, rows: rows.map((row) => this.#read(row)) };
  }

  /** Returns an account's rows, newest first, from behind a cursor; all of them without a limit. */
  async listBehind(accountId: string, limit?: number, cursor?: Cursor): Promise<Stored[]> {
    let query = this.#ordered().where('account_id', '=', accountId);
    if (cursor) query = query.where(isBehind(cursor));
    if (limit !== undefined) query = query.limit(limit);
    return (await query.execute()).map((row) => this.#read(row));
  }

  /** Returns all rows of the accounts, in list order. */
  async ofAccounts(accountIds: readonly string[]): Promise<Stored[]> {
    if (accountIds.length === 0) return [];
    const query = this.#ordered().where(this.dialect.inList('account_id', accountIds));
    return (await query.execute()).map((row) => this.#read(row));
  }

  get #tables(): Kysely<AnyTables> {
    return this.db as unknown as Kysely<AnyTables>;
  }

  #one(accountId: string, key: KeyOf<Row, Key>) {
    return this.#tables
      .selectFrom(this.#name)
      .selectAll()
      .where('account_id', '=', accountId)
      .where(this.#key, '=', key);
  }

  #ordered() {
    const newestFirst = [
      ['created', 'desc'],
      [this.#key, 'desc'],
    ] as const;
    let query = this.#tables.selectFrom(this.#name).selectAll();
    for (const [column, direction] of this.shape.order ?? newestFirst) {
      query = query.orderBy(column, direction);
    }
    return query;
  }

  #read(row: object): Stored {
    return this.shape.read(row as Selectable<Row>);
  }
}

/** A class of repositories. */
export type TableClass<Table> = new (db: Kysely<Tables>, dialect: Dialect) => Table;

type ClassOf<Row extends AccountRow, Stored extends object> = <
  const Name extends string,
  const Key extends keyof Row & string,
>(
  shape: Omit<AccountTableShape<Name, Row, Key, Stored>, 'read'>,
) => TableClass<AccountTable<Name, Row, Key, Stored>>;

/**
 * Returns the repository class of a table, to use or extend: `accountTable<NoteRow>()({ name: 'notes', key: 'id' })`.
 *
 * @param read converts a row to the form that callers use; the row itself by default.
 */
export function accountTable<Row extends AccountRow>(): ClassOf<Row, Selectable<Row>>;
export function accountTable<Row extends AccountRow, Stored extends object>(
  read: (row: Selectable<Row>) => Stored,
): ClassOf<Row, Stored>;
export function accountTable<Row extends AccountRow>(
  read = (row: Selectable<Row>): object => row,
): ClassOf<Row, object> {
  return (shape) =>
    class extends AccountTable<(typeof shape)['name'], Row, (typeof shape)['key'], object> {
      constructor(db: Kysely<Tables>, dialect: Dialect) {
        super(db, dialect, { ...shape, read });
      }
    };
}
