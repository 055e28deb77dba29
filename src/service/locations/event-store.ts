import { type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { LocationEventRow } from './tables.ts';

/** Agents report a lasting event every minute; one not reported for this long has ended with its agent. */
export const reportedWithinMs = 5 * 60_000;

/** Limit of events per location; the oldest are dropped. */
const maxEventsPerLocation = 1000;

/** Periods in which agents reported their location as unhealthy. */
export class LocationEvents extends Repository {
  async find(locationId: string, id: string): Promise<LocationEventRow | undefined> {
    return this.db
      .selectFrom('location_events')
      .selectAll()
      .where('id', '=', id)
      .where('location_id', '=', locationId)
      .executeTakeFirst();
  }

  /** Lasting events of a kind that were reported since an instant. */
  async lasting(locationId: string, kind: string, reportedSince: number): Promise<LocationEventRow[]> {
    return this.db
      .selectFrom('location_events')
      .selectAll()
      .where('location_id', '=', locationId)
      .where('kind', '=', kind)
      .where('ended', 'is', null)
      .where('told', '>=', reportedSince)
      .execute();
  }

  /** Events of a kind whose end agents have reported since an instant. */
  async endedSince(locationId: string, kind: string, since: number): Promise<LocationEventRow[]> {
    return this.db
      .selectFrom('location_events')
      .selectAll()
      .where('location_id', '=', locationId)
      .where('kind', '=', kind)
      .where('ended', 'is not', null)
      .where('told', '>=', since)
      .execute();
  }

  /** Lasting events of any kind at the given locations. */
  async lastingAt(
    locationIds: readonly string[],
    reportedSince: number,
  ): Promise<Map<string, LocationEventRow[]>> {
    const rows =
      locationIds.length === 0
        ? []
        : await this.db
            .selectFrom('location_events')
            .selectAll()
            .where('location_id', 'in', locationIds)
            .where('ended', 'is', null)
            .where('told', '>=', reportedSince)
            .execute();
    return Map.groupBy(rows, ({ location_id }) => location_id);
  }

  /** The given locations that an agent currently reports as unhealthy. */
  async unhealthyAmong(locationIds: readonly string[], now: number): Promise<Set<string>> {
    if (locationIds.length === 0) return new Set();
    const rows = await this.db
      .selectFrom('location_events')
      .select('location_id')
      .distinct()
      .where('location_id', 'in', [...new Set(locationIds)])
      .where('ended', 'is', null)
      .where('told', '>=', now - reportedWithinMs)
      .execute();
    return new Set(rows.map((row) => row.location_id));
  }

  /** Inserts or updates an event; an event of another location with the same id is left unchanged. */
  async store(row: LocationEventRow): Promise<void> {
    const { evidence, affected_runs, ended, told } = row;
    await this.db
      .insertInto('location_events')
      .values(row)
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet({ evidence, affected_runs, ended, told })
          .where('location_events.location_id', '=', row.location_id),
      )
      .execute();
    const kept = this.db
      .selectFrom('location_events')
      .select('id')
      .where('location_id', '=', row.location_id)
      .orderBy('started', 'desc')
      .orderBy('id')
      .limit(maxEventsPerLocation);
    await this.db
      .deleteFrom('location_events')
      .where('location_id', '=', row.location_id)
      .where('id', 'not in', kept)
      .execute();
  }

  /** Events of a location, newest first, and their total number. */
  async list(locationId: string, page: Page): Promise<{ rows: LocationEventRow[]; total: number }> {
    const ordered = this.db
      .selectFrom('location_events')
      .selectAll()
      .where('location_id', '=', locationId)
      .orderBy('started', 'desc')
      .orderBy('id');
    return readPage(ordered, page);
  }
}
