import { createHash } from 'node:crypto';
import { endedAt, isSince } from '@picket/platform/store/days/ended-day.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { RawBuilder } from 'kysely';
import { sql } from 'kysely';
import { changingRuns, isNowOneOf, lockedRuns, unfinishedRuns } from './store.ts';
import type { RunRow } from './tables.ts';

// As in store.ts: SQLite uses a partial index only when it sees its states.
const queued = sql.lit('queued' as const);
const leased = sql.lit('leased' as const);

/** From when on a wait counts as renewed: more than clocks and crowded slots explain. */
const renewedByMs = 60_000;

export interface ClaimFilter {
  readonly locationId: string;
  readonly lanes: readonly { readonly lane: string; readonly limit: number }[];
  readonly checkTypes: readonly string[];
  /** Runs that use another runtime are left to agents that have it. */
  readonly runtimes: readonly string[];
  readonly agentId: string;
  readonly sessionId: string;
  readonly claimNumber: number | null;
  readonly now: number;
  readonly leaseUntil: number;
}

export interface SessionLeases {
  readonly locationId: string;
  readonly agentId: string;
  readonly sessionId: string;
  /** Run id and fencing token of each. */
  readonly leases: readonly (readonly [string, number])[];
}

/** What agents do to the rows of the run ledger: they claim runs, renew their leases and give them back. */
export class Leases extends Repository {
  /**
   * Leases due runs up to the limit of each lane: the oldest slot first, runs whose wait was renewed last. One
   * statement, which writes nothing where nothing is due.
   */
  async claim(filter: ClaimFilter): Promise<RunRow[]> {
    if (filter.lanes.length === 0) return [];
    const rows = await changingRuns(this.db)
      .set((eb) => ({
        state: 'leased',
        lease_number: eb('lease_number', '+', 1),
        lease_until: filter.leaseUntil,
        agent_id: filter.agentId,
        session_id: filter.sessionId,
        claim_number: filter.claimNumber,
        first_leased_at: eb.fn.coalesce('first_leased_at', eb.val(filter.now)),
      }))
      .where((eb) => eb.or(filter.lanes.map((lane) => this.#due(filter, lane))))
      .where(isNowOneOf([queued]))
      .returningAll()
      .execute();
    return rows.sort((left, right) => left.slot_at - right.slot_at);
  }

  #due(filter: ClaimFilter, { lane, limit }: ClaimFilter['lanes'][number]): RawBuilder<boolean> {
    const ids = unfinishedRuns(this.db)
      .select('id')
      .where('location_id', '=', filter.locationId)
      .where('lane', '=', lane)
      .where('state', '=', queued)
      .where('ready_at', '<=', filter.now)
      .where('expires_at', '>', filter.now)
      .where(this.dialect.inList('check_type', filter.checkTypes))
      .where((eb) =>
        eb.or([eb('runtime_id', 'is', null), this.dialect.inList('runtime_id', filter.runtimes)]),
      )
      // What has outlived its first wait lets others go first: a long session must not blind the schedule.
      .orderBy(sql`expires_at - freshness_ms > ready_at + ${renewedByMs}`)
      .orderBy('slot_at')
      .limit(limit);
    return this.dialect.inLocked('id', ids.modifyEnd(this.dialect.forUpdateSkipLocked));
  }

  /** Location and lane, `location lane`, where runs are in hand, or have ended since an instant. */
  async lanesAtWork(
    locationIds: readonly string[],
    { now, since }: { readonly now: number; readonly since: number },
  ): Promise<Set<string>> {
    const here = this.dialect.inList('location_id', [...new Set(locationIds)]);
    const inHand = await unfinishedRuns(this.db)
      .select(['location_id', 'lane'])
      .distinct()
      // The index of runs on their way has both states.
      .where('state', 'in', [queued, leased])
      .where('state', '=', leased)
      .where('lease_until', '>', now)
      .where(here)
      .execute();
    const ended = await this.db
      .selectFrom('runs')
      .select(['location_id', 'lane'])
      .distinct()
      .where(isSince(since))
      .where('ended', '>=', since)
      .where('state', '=', 'final')
      .where(here)
      .execute();
    return new Set([...inHand, ...ended].map(({ location_id: id, lane }) => `${id} ${lane}`));
  }

  /** Lets queued runs wait anew for as long as they are fresh. */
  async renewWaits(ids: readonly string[], now: number): Promise<void> {
    if (ids.length === 0) return;
    await changingRuns(this.db)
      .set((eb) => ({ expires_at: eb('freshness_ms', '+', now) }))
      .where(this.dialect.inList('id', ids))
      .where(isNowOneOf([queued]))
      .execute();
  }

  /** When the earliest run that waits for its time may be claimed at a location, or null. */
  async nextReadyAt(locationId: string, now: number): Promise<number | null> {
    const row = await unfinishedRuns(this.db)
      .select((eb) => eb.fn.min('ready_at').as('at'))
      .where('location_id', '=', locationId)
      .where('state', '=', queued)
      .where('ready_at', '>', now)
      .executeTakeFirst();
    return row?.at ?? null;
  }

  /** Renews the leases that are still this session's; returns their run ids. */
  async renew(held: SessionLeases, leaseUntil: number): Promise<string[]> {
    if (held.leases.length === 0) return [];
    const rows = await changingRuns(this.db)
      .set({ lease_until: leaseUntil })
      .where(this.#heldBy(held))
      .where(isNowOneOf([leased]))
      .returning('id')
      .execute();
    return rows.map((row) => row.id);
  }

  /**
   * Ends runs as measured that are leased to a location under these fencing tokens; returns them, ended. It takes
   * a lock, a look and a change at once.
   */
  async finish(
    locationId: string,
    leases: readonly (readonly [runId: string, leaseNumber: number])[],
    now: number,
  ): Promise<Map<string, RunRow>> {
    if (leases.length === 0) return new Map();
    const rows = await changingRuns(this.db)
      .set({ state: 'final', lease_until: null, ...endedAt(now) })
      .where(
        lockedRuns(this.db, this.dialect, (runs) =>
          runs
            .where(this.#holds(leases))
            .where(isNowOneOf([leased]))
            .where('location_id', '=', locationId),
        ),
      )
      .where(isNowOneOf([leased]))
      .returningAll()
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Of some runs of a location, those that were cancelled, not longer ago than a day or two. */
  async cancelledAmong(locationId: string, ids: readonly string[], now: number): Promise<string[]> {
    if (ids.length === 0) return [];
    const rows = await this.db
      .selectFrom('runs')
      .select('id')
      .where(this.dialect.inList('id', ids))
      .where(isSince(now))
      .where('location_id', '=', locationId)
      .where('state', '=', 'cancelled')
      .execute();
    return rows.map((row) => row.id);
  }

  /** Puts leased runs of a session back into the queue. */
  async release(held: SessionLeases, now: number): Promise<RunRow[]> {
    if (held.leases.length === 0) return [];
    return this.#release(this.#heldBy(held), now);
  }

  /** Puts what was leased for some claims of a session back into the queue. */
  async releaseClaims(
    session: { readonly locationId: string; readonly agentId: string; readonly sessionId: string },
    claimNumbers: readonly number[],
    now: number,
  ): Promise<RunRow[]> {
    if (claimNumbers.length === 0) return [];
    const ofTheClaims = lockedRuns(this.db, this.dialect, (runs) =>
      runs
        .where('location_id', '=', session.locationId)
        // Said twice: SQLite uses the index of live runs only when it sees the very condition of it.
        .where('state', 'in', [queued, leased])
        .where('state', '=', leased)
        .where('agent_id', '=', session.agentId)
        .where('session_id', '=', session.sessionId)
        .where('claim_number', 'in', claimNumbers),
    );
    return this.#release(ofTheClaims, now);
  }

  async #release(which: RawBuilder<boolean>, now: number): Promise<RunRow[]> {
    return changingRuns(this.db)
      .set((eb) => ({
        state: 'queued',
        lease_until: null,
        ready_at: now,
        expires_at: eb('freshness_ms', '+', now),
      }))
      .where(which)
      .where(isNowOneOf([leased]))
      .returningAll()
      .execute();
  }

  /** The runs of these leases. The ids are said twice: of pairs, PostgreSQL may look through the whole table. */
  #holds(leases: SessionLeases['leases']): RawBuilder<boolean> {
    const ids = leases.map(([id]) => id);
    return sql<boolean>`${this.dialect.inList('id', ids)} and ${this.dialect.inPairs(['id', 'lease_number'], leases)}`;
  }

  /** The leases that are still a session's; locked. */
  #heldBy(held: SessionLeases): RawBuilder<boolean> {
    return lockedRuns(this.db, this.dialect, (runs) =>
      runs
        .where(this.#holds(held.leases))
        .where(isNowOneOf([leased]))
        .where('location_id', '=', held.locationId)
        .where('agent_id', '=', held.agentId)
        .where('session_id', '=', held.sessionId),
    );
  }
}

/**
 * The id the result of a lease will have. It follows from run and fencing token, so that the same report
 * always carries the same id, and the service knows it without storing it.
 */
export function resultIdOf(runId: string, leaseNumber: number): string {
  const hex = createHash('sha256').update(`${runId}/${leaseNumber}`).digest('hex');
  // Laid out as a version 8 UUID (RFC 9562): free-form bits but for version and variant.
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`;
}
