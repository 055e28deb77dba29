import { randomUUID } from 'node:crypto';
import type { Insertable, Kysely, Selectable } from 'kysely';
import type { Dialect } from '../../store/engine/dialect.ts';
import { type Page, readPage } from '../../store/engine/queries.ts';
import type { Tables } from '../../tables.ts';
import type { DashboardKeyRow, DashboardRow } from '../tables.ts';

export type Dashboard = Selectable<DashboardRow>;

/** Dashboards and the keys of private ones. */
export class Dashboards {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.#db = db;
    this.#dialect = dialect;
  }

  /** Fails with a unique violation when the URL or the domain is taken. */
  async insert(row: Insertable<DashboardRow>): Promise<Dashboard> {
    return this.#db.insertInto('dashboards').values(row).returningAll().executeTakeFirstOrThrow();
  }

  /** Fails with a unique violation when the URL or the domain is taken. */
  async update({ id, ...row }: Dashboard): Promise<void> {
    await this.#db.updateTable('dashboards').set(row).where('id', '=', id).execute();
  }

  /** Whether there was such a dashboard. */
  async delete(accountId: string, dashboardId: string): Promise<boolean> {
    const done = await this.#db
      .deleteFrom('dashboards')
      .where('dashboard_id', '=', dashboardId)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  async find(accountId: string, dashboardId: string): Promise<Dashboard | undefined> {
    return this.#one(accountId, dashboardId).executeTakeFirst();
  }

  /** The same, for a dashboard this transaction is going to change. */
  async findForUpdate(accountId: string, dashboardId: string): Promise<Dashboard | undefined> {
    return this.#one(accountId, dashboardId).modifyEnd(this.#dialect.forUpdate).executeTakeFirst();
  }

  #one(accountId: string, dashboardId: string) {
    return this.#db
      .selectFrom('dashboards')
      .selectAll()
      .where('dashboard_id', '=', dashboardId)
      .where('account_id', '=', accountId);
  }

  /** Of any account: the dashboard with this URL, or else with this domain, in lower case. */
  async findByAddress(address: string): Promise<Dashboard | undefined> {
    const rows = await this.#db
      .selectFrom('dashboards')
      .selectAll()
      .where((eb) => eb.or([eb('custom_url', '=', address), eb('custom_domain', '=', address)]))
      .execute();
    return rows.find((row) => row.custom_url === address) ?? rows[0];
  }

  /** A page of an account's dashboards, newest first. */
  async list(accountId: string, page: Page): Promise<{ total: number; rows: Dashboard[] }> {
    const ordered = this.#db
      .selectFrom('dashboards')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('created', 'desc')
      .orderBy('id', 'desc');
    return readPage(ordered, page);
  }

  /** The dashboards of an account that anybody may see. */
  async listPublic(accountId: string): Promise<Dashboard[]> {
    return this.#db
      .selectFrom('dashboards')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('is_private', '=', 0)
      .execute();
  }

  async insertKey(id: number, keyHash: string, masked: string, now: number): Promise<DashboardKeyRow> {
    const row = { id: randomUUID(), dashboard_id: id, key_hash: keyHash, masked, created: now };
    await this.#db.insertInto('dashboard_keys').values(row).execute();
    return row;
  }

  async deleteKeys(id: number): Promise<void> {
    await this.#db.deleteFrom('dashboard_keys').where('dashboard_id', '=', id).execute();
  }

  async keys(ids: readonly number[]): Promise<DashboardKeyRow[]> {
    if (ids.length === 0) return [];
    return this.#db
      .selectFrom('dashboard_keys')
      .selectAll()
      .where('dashboard_id', 'in', ids)
      .orderBy('created')
      .orderBy('id')
      .execute();
  }
}
