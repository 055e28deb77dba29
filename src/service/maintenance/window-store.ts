import { type Kysely, type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import type { MaintenanceWindowRow } from '../resources/tables.ts';
import type { Dialect } from '../store/engine/dialect.ts';
import { type Page, readPage } from '../store/engine/queries.ts';
import type { Tables } from '../tables.ts';

/** A stored maintenance window. */
export interface StoredWindow {
  readonly id: number;
  readonly accountId: string;
  /** As its schema returned it. */
  readonly definition: Record<string, unknown>;
  readonly created: number;
  readonly updated: number | null;
}

/** What is written of a window. Times are epoch milliseconds. */
export interface WindowWrite {
  readonly startsAt: number;
  /** When the last occurrence ends; null when there is no last one. */
  readonly lastEndsAt: number | null;
  readonly isVisible: boolean;
  readonly definition: Readonly<Record<string, unknown>>;
}

/** Windows that may be in effect within a time, in epoch milliseconds. */
export interface WindowFilter {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

type WindowQuery = SelectQueryBuilder<Tables, 'maintenance_windows', object>;

export class MaintenanceWindows {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  async insert(accountId: string, write: WindowWrite, now: number): Promise<StoredWindow> {
    const row = await this.#db
      .insertInto('maintenance_windows')
      .values({ account_id: accountId, created: now, updated: null, ...columns(write) })
      .returningAll()
      .executeTakeFirstOrThrow();
    return fromRow(row);
  }

  async update(id: number, write: WindowWrite, now: number): Promise<void> {
    await this.#db
      .updateTable('maintenance_windows')
      .set({ ...columns(write), updated: now })
      .where('id', '=', id)
      .execute();
  }

  /** When the first occurrence begins and the last one ends, as they were changed. */
  async setBounds(id: number, { startsAt, lastEndsAt }: Pick<WindowWrite, 'startsAt' | 'lastEndsAt'>) {
    await this.#db
      .updateTable('maintenance_windows')
      .set({ starts_at: startsAt, last_ends_at: lastEndsAt })
      .where('id', '=', id)
      .execute();
  }

  /** Whether there was such a window. */
  async delete(accountId: string, id: number): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('maintenance_windows')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  async find(accountId: string, id: number): Promise<StoredWindow | undefined> {
    const row = await this.#one(accountId, id).executeTakeFirst();
    return row && fromRow(row);
  }

  /** The same, for a window this transaction is going to change. */
  async findForUpdate(accountId: string, id: number): Promise<StoredWindow | undefined> {
    const row = await this.#one(accountId, id).modifyEnd(this.#dialect.forUpdate).executeTakeFirst();
    return row && fromRow(row);
  }

  #one(accountId: string, id: number) {
    return this.#db
      .selectFrom('maintenance_windows')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId);
  }

  /** A page of an account's windows, the one that began (or begins) last first. */
  async list(
    accountId: string,
    filter: WindowFilter,
    page: Page,
  ): Promise<{ total: number; windows: StoredWindow[] }> {
    const query = within(
      this.#db.selectFrom('maintenance_windows').where('account_id', '=', accountId),
      filter,
    );
    const ordered = query.selectAll().orderBy('starts_at', 'desc').orderBy('id', 'desc');
    const { total, rows } = await readPage(ordered, page);
    return { total, windows: rows.map(fromRow) };
  }

  /** The windows of some accounts that have begun by `to` and may not be over for good at `from`. */
  async ofAccounts(
    accountIds: readonly string[],
    filter: { readonly from: number; readonly to: number },
  ): Promise<StoredWindow[]> {
    if (accountIds.length === 0) return [];
    const query = this.#db
      .selectFrom('maintenance_windows')
      .where(this.#dialect.inList('account_id', [...new Set(accountIds)]));
    const rows = await within(query, filter).selectAll().execute();
    return rows.map(fromRow);
  }

  /** The same of all accounts, or of one, as far as status pages may show them. */
  async visible(
    filter: { readonly from: number; readonly to: number },
    accountId?: string,
  ): Promise<StoredWindow[]> {
    let query = this.#db.selectFrom('maintenance_windows').where('is_visible', '=', sql.lit(1 as const));
    if (accountId !== undefined) query = query.where('account_id', '=', accountId);
    const rows = await within(query, filter).selectAll().orderBy('starts_at').orderBy('id').execute();
    return rows.map(fromRow);
  }
}

function within(query: WindowQuery, { from, to }: WindowFilter): WindowQuery {
  let restricted = query;
  if (from !== undefined) {
    restricted = restricted.where((eb) =>
      eb.or([eb('last_ends_at', 'is', null), eb('last_ends_at', '>', from)]),
    );
  }
  return to === undefined ? restricted : restricted.where('starts_at', '<=', to);
}

function columns(write: WindowWrite) {
  return {
    starts_at: write.startsAt,
    last_ends_at: write.lastEndsAt,
    is_visible: write.isVisible ? (1 as const) : (0 as const),
    definition: JSON.stringify(write.definition),
  };
}

function fromRow(row: Selectable<MaintenanceWindowRow>): StoredWindow {
  return {
    id: row.id,
    accountId: row.account_id,
    definition: JSON.parse(row.definition),
    created: row.created,
    updated: row.updated,
  };
}
