import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { isUnfinished } from '@picket/platform/store/days/ended-day.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { sql } from 'kysely';
import type { LocationMinuteRow } from './tables.ts';

/** Queue of a location, in one lane. */
export interface QueueState {
  readonly locationId: string;
  readonly accountId: string;
  readonly slugName: string;
  readonly lane: string;
  /** Runs that could be claimed now. */
  readonly queued: number;
  readonly inFlight: number;
  /** When the longest-waiting run began to wait, in epoch milliseconds; null if no run waits. */
  readonly waitingSince: number | null;
}

/** A private location with its names. */
export interface MeasuredLocation {
  readonly id: string;
  readonly accountId: string;
  readonly slugName: string;
}

/** Queues of private locations: the current ones, and their history per minute. */
export class LocationMinutes extends Repository {
  /** Private locations of one account, or of all. */
  async locations(accountId?: string): Promise<MeasuredLocation[]> {
    let query = this.db.selectFrom('private_locations');
    if (accountId !== undefined) query = query.where('account_id', '=', accountId);
    return query
      .select(['id', 'account_id as accountId', 'slug_name as slugName'])
      .orderBy('account_id')
      .orderBy('slug_name')
      .execute();
  }

  /** Non-empty queues by location and lane, of one account or of all. */
  async queues(now: number, accountId?: string): Promise<QueueState[]> {
    let query = this.db
      .selectFrom('runs')
      .innerJoin('private_locations', 'private_locations.id', 'runs.location_id')
      .where(isUnfinished)
      .where('runs.ended', 'is', null);
    if (accountId !== undefined) query = query.where('private_locations.account_id', '=', accountId);
    const isWaiting = sql`runs.state = 'queued' and runs.ready_at <= ${now}`;
    // Agents have scheduled runs before their slots.
    const isInFlight = sql`runs.state = 'leased' and runs.slot_at <= ${now}`;
    const rows = await query
      .select([
        'runs.location_id as locationId',
        'private_locations.account_id as accountId',
        'private_locations.slug_name as slugName',
        'runs.lane as lane',
        sql<number>`sum(case when ${isWaiting} then 1 else 0 end)`.as('queued'),
        sql<number>`sum(case when ${isInFlight} then 1 else 0 end)`.as('inFlight'),
        sql<number | null>`min(case when ${isWaiting} then runs.ready_at end)`.as('waitingSince'),
      ])
      .groupBy([
        'runs.location_id',
        'private_locations.account_id',
        'private_locations.slug_name',
        'runs.lane',
      ])
      .execute();
    return rows.flatMap(({ locationId, ...row }) =>
      locationId === null
        ? []
        : [{ ...row, locationId, queued: Number(row.queued), inFlight: Number(row.inFlight) }],
    );
  }

  /** Records the length of every queue. An existing minute is left unchanged. */
  async record(minute: number, now: number): Promise<void> {
    const locations = await this.locations();
    const queues = Map.groupBy(await this.queues(now), (queue) => queue.locationId);
    const rows = locations.map(({ id }): LocationMinuteRow => {
      const lanes = queues.get(id) ?? [];
      const waiting = lanes.flatMap(({ waitingSince }) => (waitingSince === null ? [] : [waitingSince]));
      return {
        location_id: id,
        minute,
        queue_size: lanes.reduce((sum, lane) => sum + lane.queued, 0),
        oldest_age: waiting.length === 0 ? 0 : Math.max(0, now - leastOf(waiting)) / 1000,
      };
    });
    for (const row of rows) {
      // One by one: a location that is deleted meanwhile must not cost the others their minute.
      await sql`insert into location_minutes (location_id, minute, queue_size, oldest_age)
        select id, ${row.minute}, ${row.queue_size}, ${row.oldest_age} from private_locations
        where id = ${row.location_id}
        on conflict (location_id, minute) do nothing`.execute(this.db);
    }
  }

  /** Minutes of a location in [from, to), oldest first. */
  async list(locationId: string, from: number, to: number): Promise<LocationMinuteRow[]> {
    return this.db
      .selectFrom('location_minutes')
      .selectAll()
      .where('location_id', '=', locationId)
      .where('minute', '>=', from)
      .where('minute', '<', to)
      .orderBy('minute')
      .execute();
  }

  async prune(before: number): Promise<void> {
    await this.db.deleteFrom('location_minutes').where('minute', '<', before).execute();
  }
}
