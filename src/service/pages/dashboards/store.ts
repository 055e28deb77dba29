import { randomUUID } from 'node:crypto';
import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import type { Selectable } from 'kysely';
import type { DashboardKeyRow, DashboardRow } from '../tables.ts';

export type Dashboard = Selectable<DashboardRow>;

/** Dashboards and the keys of private ones. URLs and domains are unique. */
export class Dashboards extends accountTable<DashboardRow>()({ name: 'dashboards', key: 'dashboard_id' }) {
  /** The dashboard, of any account, with this URL, or else with this domain, in lower case. */
  async findByAddress(address: string): Promise<Dashboard | undefined> {
    const rows = await this.db
      .selectFrom('dashboards')
      .selectAll()
      .where((eb) => eb.or([eb('custom_url', '=', address), eb('custom_domain', '=', address)]))
      .execute();
    return rows.find((row) => row.custom_url === address) ?? rows[0];
  }

  /** Public dashboards of an account. */
  async listPublic(accountId: string): Promise<Dashboard[]> {
    return this.db
      .selectFrom('dashboards')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('is_private', '=', 0)
      .execute();
  }

  /** Custom domains of dashboards of all accounts. */
  async ownHosts(): Promise<string[]> {
    const rows = await this.db
      .selectFrom('dashboards')
      .select('custom_domain')
      .where('custom_domain', 'is not', null)
      .execute();
    return rows.flatMap((row) => row.custom_domain ?? []);
  }

  async insertKey(id: number, keyHash: string, masked: string, now: number): Promise<void> {
    const row = { id: randomUUID(), dashboard_id: id, key_hash: keyHash, masked, created: now };
    await this.db.insertInto('dashboard_keys').values(row).execute();
  }

  async deleteKeys(id: number): Promise<void> {
    await this.db.deleteFrom('dashboard_keys').where('dashboard_id', '=', id).execute();
  }

  async keys(ids: readonly number[]): Promise<DashboardKeyRow[]> {
    if (ids.length === 0) return [];
    return this.db
      .selectFrom('dashboard_keys')
      .selectAll()
      .where('dashboard_id', 'in', ids)
      .orderBy('created')
      .orderBy('id')
      .execute();
  }
}
