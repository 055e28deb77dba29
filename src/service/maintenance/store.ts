import { batches } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { MaintenanceNoticeRow, MaintenanceRow, MaintenanceUpdateRow } from './tables.ts';

/** Single occurrences of maintenance windows: their changes, and the updates about them. */
export class Maintenances extends Repository {
  /** Changed occurrences of the given windows, by window. */
  async changes(windowIds: readonly number[]): Promise<Map<number, MaintenanceRow[]>> {
    const rows: MaintenanceRow[] = [];
    for (const batch of batches(windowIds)) {
      rows.push(
        ...(await this.db.selectFrom('maintenances').selectAll().where('window_id', 'in', batch).execute()),
      );
    }
    return Map.groupBy(rows, (row) => row.window_id);
  }

  /** Stores the changes of an occurrence, within a transaction that has locked its window. */
  async change(row: MaintenanceRow): Promise<void> {
    const { window_id, occurrence, ...changed } = row;
    await this.db
      .insertInto('maintenances')
      .values(row)
      .onConflict((conflict) => conflict.columns(['window_id', 'occurrence']).doUpdateSet(changed))
      .execute();
  }

  /** Deletes everything stored about a window's occurrences, because its rule now has others. */
  async forget(windowId: number): Promise<void> {
    for (const table of ['maintenances', 'maintenance_updates', 'maintenance_notices'] as const) {
      await this.db.deleteFrom(table).where('window_id', '=', windowId).execute();
    }
  }

  /** Updates about the given occurrences of a window, newest first. */
  async updates(windowId: number, occurrences: readonly number[]): Promise<MaintenanceUpdateRow[]> {
    if (occurrences.length === 0) return [];
    return this.db
      .selectFrom('maintenance_updates')
      .selectAll()
      .where('window_id', '=', windowId)
      .where('occurrence', 'in', occurrences)
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .execute();
  }

  async insertUpdate(row: MaintenanceUpdateRow): Promise<void> {
    await this.db.insertInto('maintenance_updates').values(row).execute();
  }

  async describeUpdate(id: string, description: string): Promise<void> {
    await this.db.updateTable('maintenance_updates').set({ description }).where('id', '=', id).execute();
  }

  async deleteUpdate(id: string): Promise<void> {
    await this.db.deleteFrom('maintenance_updates').where('id', '=', id).execute();
  }

  /** Records that a notice is sent. Returns false if it was sent before. */
  async recordNotice(row: MaintenanceNoticeRow): Promise<boolean> {
    const done = await this.db
      .insertInto('maintenance_notices')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return (done.numInsertedOrUpdatedRows ?? 0n) > 0n;
  }
}
