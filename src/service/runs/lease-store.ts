import { hash } from 'node:crypto';
import { endedAt, isSince } from '@picket/platform/store/days/ended-day.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { RawBuilder } from 'kysely';
import { sql } from 'kysely';
import { changingRuns, isNowOneOf, lockedRuns, slotOrNow, unfinishedRuns } from './store.ts';
import type { RunRow } from './tables.ts';

// As in store.ts: SQLite uses a partial index only if it sees its states as literals.
const queued = sql.lit('queued' as const);
const leased = sql.lit('leased' as const);

/**
 * Whether a run has outlived its first wait, by more than clocks and crowded slots explain. Word for word the expression
 * of the index of the queue: claims read its first rows, however many wait behind them.
 */
const isRenewed = sql`expires_at - freshness_ms > ready_at + 60000`;

/** Runs of a lane that a claim asks for. */
export interface LaneClaim {
  readonly lane: string;
  readonly limit: number;
  /** After those that are due, scheduled runs with slots up to this time; absent: none. */
  readonly until?: number;
}

export interface ClaimFilter {
  readonly locationId: string;
  readonly lanes: readonly LaneClaim[];
  readonly checkTypes: readonly string[];
  /** Needs that the agent meets (agent-presence/needed-browsers.ts): runs with others are left to agents that meet them. */
  readonly needs: readonly string[];
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

/** Changes to ledger rows on behalf of agents: claims, renewals and releases of leases. */
export class Leases extends Repository {
  /**
   * Leases due runs, and scheduled ones before their slots for agents that take them, up to the limit of each lane:
   * oldest slot first, runs with a renewed wait last. A single statement, which writes nothing if there is nothing to
   * lease. Retries and runs that someone started are never early: they wait for their own time, which is no slot.
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
        first_leased_at: eb.fn.coalesce('first_leased_at', slotOrNow(filter.now)),
      }))
      .where((eb) => eb.or(filter.lanes.map((lane) => this.#first(filter, lane))))
      .where(isNowOneOf([queued]))
      .returningAll()
      .execute();
    return rows.sort((left, right) => left.slot_at - right.slot_at);
  }

  #first(filter: ClaimFilter, { lane, limit, until }: LaneClaim): RawBuilder<boolean> {
    const { now } = filter;
    const ids = unfinishedRuns(this.db)
      .select('id')
      .where('location_id', '=', filter.locationId)
      .where('lane', '=', lane)
      .where('state', '=', queued)
      .where((eb) => {
        const isDue = eb.and([eb('ready_at', '<=', now), eb('expires_at', '>', now)]);
        return until === undefined ? isDue : eb.or([isDue, isEarly(now, until)]);
      })
      .where(this.dialect.inList('check_type', filter.checkTypes))
      .where((eb) => eb.or([eb('runtime_id', 'is', null), this.dialect.inList('runtime_id', filter.needs)]))
      // Runs that have outlived their first wait yield to others: a long session must not starve the schedule.
      .orderBy(isRenewed)
      .orderBy('slot_at')
      .limit(limit);
    return this.dialect.inLocked('id', ids.modifyEnd(this.dialect.forUpdateSkipLocked));
  }

  /** Location and lane, as `location lane`, with leased runs, or with runs that ended since an instant. */
  async lanesAtWork(
    locationIds: readonly string[],
    { now, since }: { readonly now: number; readonly since: number },
  ): Promise<Set<string>> {
    const here = this.dialect.inList('location_id', [...new Set(locationIds)]);
    const inHand = await unfinishedRuns(this.db)
      .select(['location_id', 'lane'])
      .distinct()
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

  /** Restarts the wait of queued runs for as long as they are fresh. */
  async renewWaits(ids: readonly string[], now: number): Promise<void> {
    if (ids.length === 0) return;
    await changingRuns(this.db)
      .set((eb) => ({ expires_at: eb('freshness_ms', '+', now) }))
      .where(this.dialect.inList('id', ids))
      .where(isNowOneOf([queued]))
      .execute();
  }

  /** When the earliest delayed run at a location may be claimed, or null; and whether others may be claimed now. */
  async waiting(
    locationId: string,
    now: number,
  ): Promise<{ readonly nextReadyAt: number | null; readonly areReady: boolean }> {
    const row = await unfinishedRuns(this.db)
      .select([
        sql<number | null>`min(case when ready_at > ${now} then ready_at end)`.as('at'),
        sql<number>`count(case when ready_at <= ${now} and expires_at > ${now} then 1 end)`.as('ready'),
      ])
      .where('location_id', '=', locationId)
      .where('state', '=', queued)
      .executeTakeFirst();
    return { nextReadyAt: row?.at ?? null, areReady: Number(row?.ready ?? 0) > 0 };
  }

  /** Renews the leases that this session still holds; returns their run ids. */
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
   * Ends runs as measured if they are leased to a location under these fencing tokens; returns them as ended. It locks,
   * reads and updates in one step.
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

  /** The given runs of a location that were cancelled, at most a day or two ago. */
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

  /** Returns leased runs of a session to the queue. */
  async release(held: SessionLeases, now: number): Promise<RunRow[]> {
    if (held.leases.length === 0) return [];
    return this.#release(this.#heldBy(held), now);
  }

  /** Returns the runs leased for certain claims of a session to the queue. */
  async releaseClaims(
    session: { readonly locationId: string; readonly agentId: string; readonly sessionId: string },
    claimNumbers: readonly number[],
    now: number,
  ): Promise<RunRow[]> {
    if (claimNumbers.length === 0) return [];
    const ofTheClaims = lockedRuns(this.db, this.dialect, (runs) =>
      runs
        .where('location_id', '=', session.locationId)
        .where('state', '=', leased)
        .where('agent_id', '=', session.agentId)
        .where('session_id', '=', session.sessionId)
        .where('claim_number', 'in', claimNumbers),
    );
    return this.#release(ofTheClaims, now);
  }

  async #release(which: RawBuilder<boolean>, now: number): Promise<RunRow[]> {
    return changingRuns(this.db)
      .set({
        state: 'queued',
        lease_until: null,
        // A run that was claimed ahead of its slot waits for the slot again.
        ready_at: slotOrNow(now),
        expires_at: sql<number>`freshness_ms + ${slotOrNow(now)}`,
      })
      .where(which)
      .where(isNowOneOf([leased]))
      .returningAll()
      .execute();
  }

  /** Runs of these leases. The ids are repeated on their own, because PostgreSQL may scan the whole table for pairs. */
  #holds(leases: SessionLeases['leases']): RawBuilder<boolean> {
    const ids = leases.map(([id]) => id);
    return sql<boolean>`${this.dialect.inList('id', ids)} and ${this.dialect.inPairs(['id', 'lease_number'], leases)}`;
  }

  /** Leases that a session still holds; locked. */
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

/** Whether the slot of a queued run is in the near future, and nothing but its slot is waited for. */
function isEarly(now: number, until: number): RawBuilder<boolean> {
  return sql<boolean>`(slot_at > ${now} and slot_at <= ${until} and ready_at <= ${until})`;
}

/**
 * Id of the result of a lease. It is derived from run and fencing token, so that the same report always carries the
 * same id, which the service knows without storing it. It begins like the id of a run that is in the order of time.
 */
export function resultIdOf(runId: string, leaseNumber: number): string {
  const hex = hash('sha256', `${runId}/${leaseNumber}`);
  // Formatted as a version 8 UUID (RFC 9562): custom bits except for version and variant.
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  const isInOrder = runId[14] === '7';
  const head = isInOrder ? runId.slice(0, 13) : `${hex.slice(0, 8)}-${hex.slice(8, 12)}`;
  return `${head}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`;
}
