import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import type { WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';
import { MaintenanceWindowInput } from '@picket/protocol/pages/maintenance-window.ts';
import { type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import { MaintenanceCalendar } from './calendar.ts';
import { Maintenances } from './store.ts';
import type { MaintenanceRow, MaintenanceWindowRow } from './tables.ts';

/** A stored maintenance window. */
export interface StoredWindow {
  readonly id: number;
  readonly accountId: string;
  readonly definition: WindowDefinition;
  readonly created: number;
  readonly updated: number | null;
}

/** Period in which windows may be in effect, in epoch milliseconds. */
export interface WindowFilter {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

type WindowQuery = SelectQueryBuilder<Tables, 'maintenance_windows', object>;

/** Always due. */
const atOnce = 0;

const WindowTable = accountTable<MaintenanceWindowRow, StoredWindow>(read)({
  name: 'maintenance_windows',
  key: 'id',
});

export class MaintenanceWindows extends WindowTable {
  /** Changes of single occurrences. */
  get maintenances(): Maintenances {
    return new Maintenances(this.db, this.dialect);
  }

  /** Sets the start of the first and the end of the last occurrence, including changes. */
  async setBounds(
    id: number,
    bounds: { readonly startsAt: number; readonly lastEndsAt: number | null },
  ): Promise<void> {
    const { account_id: accountId } = await this.db
      .updateTable('maintenance_windows')
      .set({ starts_at: bounds.startsAt, last_ends_at: bounds.lastEndsAt })
      .where('id', '=', id)
      .returning('account_id')
      .executeTakeFirstOrThrow();
    await this.#lookAgain(accountId);
  }

  override async update(
    row: Parameters<InstanceType<typeof WindowTable>['update']>[0],
  ): Promise<StoredWindow | undefined> {
    await this.#lookAgain(row.account_id);
    return super.update(row);
  }

  override async delete(accountId: string, id: number): Promise<boolean> {
    await this.#lookAgain(accountId);
    return super.delete(accountId, id);
  }

  /** Marks everything that windows hold back for immediate re-evaluation: it may end earlier than planned. */
  async #lookAgain(accountId: string): Promise<void> {
    for (const table of ['alert_states', 'monitoring_gaps'] as const) {
      await this.db
        .updateTable(table)
        .set({ next_at: atOnce })
        .where('account_id', '=', accountId)
        .where('next_at', 'is not', null)
        .execute();
    }
  }

  /** A page of an account's windows within a period, latest start first. */
  async listWithin(
    accountId: string,
    filter: WindowFilter,
    page: Page,
  ): Promise<{ total: number; rows: StoredWindow[] }> {
    const query = within(
      this.db.selectFrom('maintenance_windows').where('account_id', '=', accountId),
      filter,
    );
    const ordered = query.selectAll().orderBy('starts_at', 'desc').orderBy('id', 'desc');
    const { total, rows } = await readPage(ordered, page);
    return { total, rows: rows.map(read) };
  }

  /** Windows of the given accounts that have begun by `to` and may not have ended for good by `from`. */
  async ofAccountsWithin(
    accountIds: readonly string[],
    filter: { readonly from: number; readonly to: number },
  ): Promise<StoredWindow[]> {
    if (accountIds.length === 0) return [];
    const query = this.db
      .selectFrom('maintenance_windows')
      .where(this.dialect.inList('account_id', [...new Set(accountIds)]));
    const rows = await within(query, filter).selectAll().execute();
    return rows.map(read);
  }

  /** Same for all accounts, or one, if status pages may show them. */
  async visible(
    filter: { readonly from: number; readonly to: number },
    accountId?: string,
  ): Promise<StoredWindow[]> {
    let query = this.db.selectFrom('maintenance_windows').where('is_visible', '=', sql.lit(1 as const));
    if (accountId !== undefined) query = query.where('account_id', '=', accountId);
    const rows = await within(query, filter).selectAll().orderBy('starts_at').orderBy('id').execute();
    return rows.map(read);
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

const definitionOf = storedJson('maintenance_windows.definition', MaintenanceWindowInput);

function read(row: Selectable<MaintenanceWindowRow>): StoredWindow {
  return {
    id: row.id,
    accountId: row.account_id,
    definition: definitionOf(row.definition),
    created: row.created,
    updated: row.updated,
  };
}

/** Columns of a window with the given changes of occurrences. */
export function windowColumns(definition: WindowDefinition, changes: readonly MaintenanceRow[] = []) {
  const { startsAt, lastEndsAt } = new MaintenanceCalendar(definition, changes).bounds();
  return {
    starts_at: startsAt,
    last_ends_at: lastEndsAt,
    is_visible: definition.statusPageVisibility?.enabled ? (1 as const) : (0 as const),
    definition: JSON.stringify(definition),
  };
}
