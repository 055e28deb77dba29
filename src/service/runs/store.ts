import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { endedAt, isSince, isUnfinished } from '@picket/platform/store/days/ended-day.ts';
import type { Change, Dialect } from '@picket/platform/store/engine/dialect.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { longestAheadMs } from '@picket/protocol/agent/lane-slots.ts';
import type { Kysely, RawBuilder, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import { isSlotTaken, runColumnTypes } from './inserting.ts';
import type { MissedReason, RunRow } from './tables.ts';

// Inlined into the statements instead of passed as parameters: SQLite uses a partial index only if it sees its states.
const queued = sql.lit('queued' as const);
const leased = sql.lit('leased' as const);
const onTheirWay = [queued, leased];

/** Maximum difference between two readings of the same clock. */
const clockSlackMs = 2_000;
/** Longest wait of a retry (check model 2.1). */
const longestBackoffMs = 600_000 + clockSlackMs;

export type RunIds = SelectQueryBuilder<Tables, 'runs', { id: string }>;

/**
 * State condition for runs selected by id. Written so that no index on the state is used: those indexes are full of
 * rows that have left the state, and PostgreSQL may prefer one of them to the ids.
 */
export function isNowOneOf(states: readonly RawBuilder<unknown>[]): RawBuilder<boolean> {
  return sql<boolean>`coalesce(state, '') in (${sql.join(states)})`;
}

/**
 * An instant, or the slot of a run that is due soon: agents may have runs before their slots. A slot far ahead results
 * from a clock that was ahead, and does not count.
 */
export function slotOrNow(now: number): RawBuilder<number> {
  return sql<number>`case when slot_at between ${now} and ${now + longestAheadMs} then slot_at else ${now} end`;
}

/** Selects from unfinished runs. */
export function unfinishedRuns(db: Kysely<Tables>) {
  return db.selectFrom('runs').where(isUnfinished);
}

/** Same, for updates. */
export function changingRuns(db: Kysely<Tables>) {
  return db.updateTable('runs').where(isUnfinished);
}

/** Condition for unfinished runs, locked in order of id, as in every statement on many runs. */
export function lockedRuns(
  db: Kysely<Tables>,
  dialect: Dialect,
  restrict: (runs: RunIds) => RunIds,
): RawBuilder<boolean> {
  const ids = restrict(unfinishedRuns(db).select('id'));
  const inOrder = dialect.locksRows ? ids.orderBy('id') : ids;
  return dialect.inLocked('id', inOrder.modifyEnd(dialect.forUpdate));
}

/**
 * Rows of the run ledger. Each statement names the state it leaves, so that of two racing transitions exactly one
 * happens; the meaning of the transitions is in ledger.ts. Transitions of leases by agents are in lease-store.ts.
 */
export class Runs extends Repository {
  /** Inserts runs, skipping slots that already have one. Returns those inserted. */
  async insert(rows: readonly RunRow[]): Promise<RunRow[]> {
    const inserted: RunRow[] = [];
    for (const portion of this.dialect.portions(rows)) {
      const done = await this.dialect
        .rows(this.db.insertInto('runs'), runColumnTypes, portion, isSlotTaken(portion))
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .execute();
      const ids = new Set(done.map(({ id }) => id));
      inserted.push(...portion.filter(({ id }) => ids.has(id)));
    }
    return inserted;
  }

  #locked(restrict: (runs: RunIds) => RunIds): RawBuilder<boolean> {
    return lockedRuns(this.db, this.dialect, restrict);
  }

  /** Sessions that hold leases of runs at the given locations. */
  async sessionsAtWork(locationIds: readonly string[], now: number): Promise<Set<string>> {
    if (locationIds.length === 0) return new Set();
    const rows = await unfinishedRuns(this.db)
      .select('session_id')
      .distinct()
      .where('state', '=', leased)
      .where('lease_until', '>', now)
      .where(this.dialect.inList('location_id', [...new Set(locationIds)]))
      .execute();
    return new Set(rows.flatMap(({ session_id: id }) => id ?? []));
  }

  /** Runs with an expired lease; locked until the end of the transaction. */
  async leasesEnded(now: number, limit: number): Promise<RunRow[]> {
    return unfinishedRuns(this.db)
      .selectAll()
      .where('state', '=', leased)
      .where('lease_until', '<=', now)
      .orderBy('lease_until')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
  }

  /**
   * Withdraws what a clock that was ahead has granted: leases that end later than a new one would, and queue entries
   * that become ready only after the longest back-off. Otherwise they would be stuck until then.
   *
   * @returns how many there were.
   */
  async withdrawFutureRuns(now: number, leaseTtlMs: number): Promise<number> {
    const leases = await changingRuns(this.db)
      .set({ lease_until: now + leaseTtlMs })
      .where(
        this.#locked((runs) =>
          runs.where('state', '=', leased).where('lease_until', '>', now + leaseTtlMs + clockSlackMs),
        ),
      )
      .where('state', '=', leased)
      .executeTakeFirst();
    const entries = await changingRuns(this.db)
      .set((eb) => ({ ready_at: now, expires_at: eb('freshness_ms', '+', now) }))
      .where(
        this.#locked((runs) =>
          runs
            .where('state', '=', queued)
            .where((eb) =>
              eb.or([
                eb('expires_at', '>', sql<number>`freshness_ms + ${now + longestBackoffMs}`),
                eb.and([
                  eb('attempt', '=', 0),
                  eb('expires_at', '>', sql<number>`freshness_ms + ${now + clockSlackMs}`),
                ]),
              ]),
            ),
        ),
      )
      .where('state', '=', queued)
      .executeTakeFirst();
    return Number(leases.numUpdatedRows + entries.numUpdatedRows);
  }

  /** Removes slots of a check that a clock that was ahead recorded as missed: they become due and get own records. */
  async cutFutureMissed(checkId: string, intervalMs: number, now: number): Promise<void> {
    const rows = await this.db
      .selectFrom('runs')
      .select(['id', 'slot_at', 'slot_count', 'slot_interval_ms'])
      .where('check_id', '=', checkId)
      .where('state', '=', 'missed')
      .where('reason', '=', 'service-away')
      .where(isSince(now))
      .where('ended', '>', now)
      .orderBy('id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    for (const { id, slot_at: slotAt, slot_count: slotCount, slot_interval_ms: strideMs } of rows) {
      const due = Math.floor((now - slotAt) / (strideMs ?? intervalMs)) + 1;
      if (due <= 0) await this.db.deleteFrom('runs').where('id', '=', id).where(isSince(now)).execute();
      else {
        const changes = { slot_count: Math.min(slotCount, due), ...endedAt(now) };
        await this.db.updateTable('runs').set(changes).where('id', '=', id).where(isSince(now)).execute();
      }
    }
  }

  /** Queued runs that waited too long; locked until the end of the transaction. */
  async outlived(now: number, limit: number): Promise<RunRow[]> {
    return unfinishedRuns(this.db)
      .selectAll()
      .where('state', '=', queued)
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
  }

  /** When the next lease expires or the next queued run has waited too long, or null. */
  async nextDeadline(): Promise<number | null> {
    const nextLease = await unfinishedRuns(this.db)
      .select((eb) => eb.fn.min('lease_until').as('at'))
      .where('state', '=', leased)
      .executeTakeFirst();
    const nextQueued = await unfinishedRuns(this.db)
      .select((eb) => eb.fn.min('expires_at').as('at'))
      .where('state', '=', queued)
      .executeTakeFirst();
    const instants = [nextLease?.at, nextQueued?.at].filter((at) => typeof at === 'number');
    return instants.length === 0 ? null : leastOf(instants);
  }

  /** Requeues runs with an expired lease, counting the death. */
  async requeueAfterDeath(ids: readonly string[], now: number): Promise<void> {
    if (ids.length === 0) return;
    await changingRuns(this.db)
      .set((eb) => ({
        state: 'queued',
        lease_until: null,
        deaths: eb('deaths', '+', 1),
        ready_at: slotOrNow(now),
        expires_at: sql<number>`freshness_ms + ${slotOrNow(now)}`,
      }))
      .where(this.dialect.inList('id', ids))
      .where('state', '=', leased)
      .execute();
  }

  /** Queues the next attempt of a run whose last attempt was stored as `lastResultId`. */
  async requeueForRetry(
    id: string,
    next: {
      readonly attempt: number;
      readonly readyAt: number;
      readonly location: string;
      readonly locationId: string | null;
      readonly lastResultId: string;
    },
  ): Promise<void> {
    await changingRuns(this.db)
      .set((eb) => ({
        state: 'queued',
        lease_until: null,
        deaths: 0,
        attempt: next.attempt,
        ready_at: next.readyAt,
        expires_at: eb('freshness_ms', '+', next.readyAt),
        location: next.location,
        location_id: next.locationId,
        last_result_id: next.lastResultId,
      }))
      .where('id', '=', id)
      .where('state', '=', leased)
      .execute();
  }

  /** Statement that ends runs as measured. */
  finishing(ids: readonly string[], now: number): Change[] {
    if (ids.length === 0) return [];
    return [
      changingRuns(this.db)
        .set({ state: 'final', lease_until: null, ...endedAt(now) })
        .where(this.dialect.inList('id', ids))
        .where(isNowOneOf(onTheirWay)),
    ];
  }

  /** Ends runs as missed. */
  async miss(ids: readonly string[], reason: MissedReason, now: number): Promise<void> {
    if (ids.length === 0) return;
    await changingRuns(this.db)
      .set({ state: 'missed', reason, lease_until: null, ...endedAt(now) })
      .where(this.dialect.inList('id', ids))
      .where('state', 'in', onTheirWay)
      .execute();
  }

  /**
   * Cancels the queued runs of a check, except those at the locations to keep. Test sessions are not affected: their
   * locations, and whether the check is activated, are independent.
   */
  async cancelQueued(
    checkId: string,
    reason: string,
    keepLocations: readonly string[],
    now: number,
  ): Promise<void> {
    await changingRuns(this.db)
      .set({ state: 'cancelled', reason, ...endedAt(now) })
      .where(
        this.#locked((runs) =>
          runs
            .where('check_id', '=', checkId)
            // Stated twice: SQLite uses the index of live runs only if it sees its exact condition.
            .where('state', 'in', onTheirWay)
            .where('state', '=', queued)
            .where('test_session_id', 'is', null)
            .where((eb) => eb.not(this.dialect.inList('location', keepLocations))),
        ),
      )
      .where('state', '=', queued)
      .execute();
  }

  /** Cancels all unfinished runs of a check; returns them. */
  async cancelAll(checkId: string, reason: string, now: number): Promise<RunRow[]> {
    return this.#cancel((runs) => runs.where('check_id', '=', checkId), reason, now);
  }

  /** Cancels all unfinished runs at a location; returns them. */
  async cancelAtLocation(locationId: string, reason: string, now: number): Promise<RunRow[]> {
    return this.#cancel((runs) => runs.where('location_id', '=', locationId), reason, now);
  }

  /** Cancels the unfinished runs of a session, all or those of the given sequences; returns them. */
  async cancelSession(
    session: { readonly kind: 'check_session_id' | 'test_session_id'; readonly id: string },
    sequenceIds: readonly string[] | undefined,
    now: number,
  ): Promise<RunRow[]> {
    return this.#cancel(
      (runs) => {
        const all = runs.where(session.kind, '=', session.id);
        return sequenceIds ? all.where(this.dialect.inList('sequence_id', sequenceIds)) : all;
      },
      'cancelled-by-user',
      now,
    );
  }

  async #cancel(restrict: (runs: RunIds) => RunIds, reason: string, now: number): Promise<RunRow[]> {
    return changingRuns(this.db)
      .set({ state: 'cancelled', reason, lease_until: null, ...endedAt(now) })
      .where(this.#locked((runs) => restrict(runs).where('state', 'in', onTheirWay)))
      .where('state', 'in', onTheirWay)
      .returningAll()
      .execute();
  }

  /**
   * Runs by id; unfinished ones are locked, in a fixed order, so that two batches cannot deadlock. Finished runs never
   * change. They are searched in all days, for reports that arrive twice or too late.
   */
  async lockMany(ids: readonly string[]): Promise<Map<string, RunRow>> {
    if (ids.length === 0) return new Map();
    const rows = await unfinishedRuns(this.db)
      .selectAll()
      .where(this.dialect.inList('id', ids))
      .orderBy('id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    const found = new Map(rows.map((row) => [row.id, row]));
    const others = ids.filter((id) => !found.has(id));
    if (others.length === 0) return found;
    const ended = await this.db
      .selectFrom('runs')
      .selectAll()
      .where(this.dialect.inList('id', others))
      .execute();
    for (const row of ended) found.set(row.id, row);
    return found;
  }

  /** All runs of a check, oldest slot first. */
  async ofCheck(checkId: string): Promise<RunRow[]> {
    return this.db
      .selectFrom('runs')
      .selectAll()
      .where('check_id', '=', checkId)
      .orderBy('slot_at')
      .orderBy('slot_location')
      .execute();
  }

  /** Number of slots covered by terminal records and unfinished runs, by state. */
  async countSlots(checkId: string): Promise<Record<string, number>> {
    const rows = await this.db
      .selectFrom('runs')
      .select(['state', sql<number>`sum(slot_count)`.as('slots')])
      .where('check_id', '=', checkId)
      .groupBy('state')
      .execute();
    return Object.fromEntries(rows.map((row) => [row.state, Number(row.slots)]));
  }
}
