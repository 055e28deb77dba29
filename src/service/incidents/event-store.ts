import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { IncidentEventRow } from './tables.ts';

/** Pending events that open or resolve incidents. */
export class IncidentEvents extends Repository {
  async insert(row: Omit<IncidentEventRow, 'position'>): Promise<void> {
    await this.db.insertInto('incident_events').values(row).execute();
  }

  /**
   * The oldest events, locked, so that no other process handles a later event of the same incident meanwhile. Must be
   * called in the transaction that removes them.
   */
  async lockOldest(limit: number): Promise<IncidentEventRow[]> {
    return this.db
      .selectFrom('incident_events')
      .selectAll()
      .orderBy('position')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdate)
      .execute();
  }

  async hasAny(): Promise<boolean> {
    const row = await this.db.selectFrom('incident_events').select('position').limit(1).executeTakeFirst();
    return row !== undefined;
  }

  async remove(position: number): Promise<void> {
    await this.db.deleteFrom('incident_events').where('position', '=', position).execute();
  }
}
