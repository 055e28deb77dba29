import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { isSince, isUnfinished } from '@picket/platform/store/days/ended-day.ts';
import { finalResultsOf } from '@picket/platform/store/days/final-results.ts';
import type { Dialect } from '@picket/platform/store/engine/dialect.ts';
import { atAddresses } from '@picket/platform/store/engine/removal.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { outcomeOf } from '@picket/protocol/runs/coverage.ts';
import { type Kysely, sql } from 'kysely';
import { type DayCache, DaySlots, dayCache, decodedDay } from './day-slots.ts';
import {
  decodeSegments,
  encodeSegments,
  joined,
  type SlotSegment,
  type Span,
  slotsWithin,
} from './slot-segments.ts';

/** Seals end at multiples of this; newer slots are counted from the ledger, for all checks of an account at once. */
const sealMs = 15 * 60_000;
const dayMs = 86_400_000;
/** A ping may be stored slightly after its time. */
const settledAfterMs = 2 * 60_000;
const checksPerStatement = 200;
/** Approximate number of slots of one location sealed at once. */
const slotsPerSeal = 1000;

/** Columns of a ledger record that coverage needs. */
interface LedgerSlots {
  readonly id: string;
  readonly check_id: string;
  readonly slot_location: string;
  readonly slot_at: number;
  readonly slot_count: number;
  readonly stride_ms: number | null;
  readonly state: Parameters<typeof outcomeOf>[0]['state'];
  readonly reason: string | null;
  readonly ended: number | null;
  readonly last_result_id: string | null;
}

interface SealedDays {
  readonly until: number;
  readonly days: DaySlots[];
}

/**
 * Outcomes of all slots, in a few bytes per day. The ledger has a record for each slot; counting those of a month for
 * each request would cost as much as reading a million results. So the slots of every quarter of an hour are *sealed*
 * once all of them have ended: merged into segments (slot-segments.ts), in one row per day and check. Unsealed slots
 * are read from the ledger, so a response is the same before and after sealing, and stays the same after
 * RESULT_RETENTION_DAYS, when the ledger records are gone.
 */
export class SlotDays {
  readonly #db: Kysely<Tables>;
  readonly #dialect: Dialect;
  readonly #cache: DayCache;

  /** @param cache keeps decoded days; by default none is kept. */
  constructor(db: Kysely<Tables>, dialect: Dialect, cache = dayCache(0)) {
    this.#db = db;
    this.#dialect = dialect;
    this.#cache = cache;
  }

  /** How far the slots of a check are sealed; 0 before the first seal. */
  async sealedUntil(checkId: string): Promise<number> {
    return (await this.#sealedUntil([checkId])).get(checkId) ?? 0;
  }

  async #sealedUntil(checkIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.#db
      .selectFrom('slot_seals')
      .select(['check_id', 'until_ms'])
      .where(this.#dialect.inList('check_id', checkIds))
      .execute();
    return new Map(rows.map(({ check_id: id, until_ms: until }) => [id, until]));
  }

  /**
   * The next span of each check that can be sealed; omits checks without one. Mostly it reads one row of each: a
   * statement for many checks, because rounds over all checks look at each of them every minute.
   */
  async nextSeals(checkIds: readonly string[], now: number): Promise<Map<string, NextSeal>> {
    if (checkIds.length === 0) return new Map();
    const sealed = await this.#sealedUntil(checkIds);
    const since = checkIds
      .map((id) => [id, sealed.get(id) ?? 0] as const)
      .filter(([, at]) => at + sealMs <= now - settledAfterMs);
    if (since.length === 0) return new Map();
    const ids = since.map(([id]) => id);
    const checks = await this.#db
      .selectFrom('check_slots')
      .select(['check_id', 'next_slot_at', 'interval_ms'])
      .where(this.#dialect.inList('check_id', ids))
      .execute();
    const known = new Map(checks.map((check) => [check.check_id, check]));
    // Read after the next slots: one that became a run meanwhile counts as not due yet.
    const open = await this.#oldestOpen(ids);
    const oldest = await this.#oldestSlots(since);
    return new Map(
      since.flatMap(([id, from]) => {
        const check = known.get(id);
        const oldestAt = oldest.get(id);
        if (!check || oldestAt === undefined) return [];
        const settled = Math.min(now - settledAfterMs, check.next_slot_at ?? now, open.get(id) ?? now);
        // Keeps transactions small when a long history is sealed.
        const longestMs = Math.max(sealMs, startOf(slotsPerSeal * check.interval_ms, sealMs));
        const to = Math.min(startOf(settled, sealMs), startOf(oldestAt, sealMs) + longestMs);
        const slots = Math.ceil((to - oldestAt) / check.interval_ms);
        return to > oldestAt ? [[id, { from, to, slots }] as const] : [];
      }),
    );
  }

  /** The next span of a check that can be sealed, or null. */
  async nextSeal(checkId: string, now: number): Promise<NextSeal | null> {
    return (await this.nextSeals([checkId], now)).get(checkId) ?? null;
  }

  /** The oldest slot of each check that has not ended; omits checks without one. */
  async #oldestOpen(checkIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.#db
      .selectFrom('runs')
      .select((eb) => ['check_id', eb.fn.min('slot_at').as('at')])
      .where(this.#dialect.inList('check_id', checkIds))
      .where(isUnfinished)
      .where('ended', 'is', null)
      // One condition, so that SQLite uses the small index of unfinished runs, not that of all scheduled runs.
      .where((eb) => eb.fn.coalesce('check_session_id', 'test_session_id'), 'is', null)
      .groupBy('check_id')
      .execute();
    return new Map(rows.map(({ check_id: id, at }) => [id, at]));
  }

  /** The oldest slot of each check at or after an instant; omits checks without one. */
  async #oldestSlots(since: readonly Since[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (const part of inParts(since)) {
      const earliest = leastOf(part.map(([, at]) => at));
      const { rows } = await sql<{ check_id: string; oldest: number | null }>`
        select asked.check_id, (select min(runs.slot_at) from runs
          where runs.check_id = asked.check_id and runs.slot_at >= asked.since and ${isSince(earliest)}
            and runs.check_session_id is null and runs.test_session_id is null) as oldest
        from ${this.#dialect.pairRows(['check_id', 'since'], part)} as asked`.execute(this.#db);
      for (const { check_id: id, oldest } of rows) if (oldest !== null) found.set(id, oldest);
    }
    return found;
  }

  /** Seals the next span of a check, within a transaction. Returns false if there is nothing to seal, or it is deleted. */
  async sealNext(checkId: string, now: number): Promise<boolean> {
    return this.sealTogether([checkId], now);
  }

  /**
   * Seals the next span of each check, within a transaction: the same few statements as for one. Returns whether there
   * was anything to seal.
   */
  async sealTogether(checkIds: readonly string[], now: number): Promise<boolean> {
    // Locked, so that a concurrent deletion of a check also deletes the new rows.
    const locked = await this.#db
      .selectFrom('checks')
      .select('id')
      .where(this.#dialect.inList('id', checkIds))
      .orderBy('id')
      .modifyEnd(this.#dialect.forUpdate)
      .execute();
    const seals = await this.nextSeals(
      locked.map(({ id }) => id),
      now,
    );
    if (seals.size === 0) return false;
    const fresh: (readonly [checkId: string, day: number, segments: SlotSegment[]])[] = [];
    for (const [to, own] of Map.groupBy(seals, ([, seal]) => seal.to)) {
      const since = own.map(([id, { from }]) => [id, from] as const);
      const earliest = leastOf(since.map(([, at]) => at));
      for (const [id, segments] of await this.#unsealed(since, { from: earliest, to })) {
        for (const [day, part] of byDay(segments)) fresh.push([id, day, part]);
      }
    }
    await this.#addToDays(fresh);
    const ends = [...seals].map(([id, { to }]) => ({ check_id: id, until_ms: to }));
    for (const portion of this.#dialect.portions(ends)) {
      await this.#db
        .insertInto('slot_seals')
        .values(portion)
        .onConflict((conflict) =>
          conflict.column('check_id').doUpdateSet((eb) => ({ until_ms: eb.ref('excluded.until_ms') })),
        )
        .execute();
    }
    return true;
  }

  async #addToDays(fresh: readonly (readonly [checkId: string, day: number, segments: SlotSegment[]])[]) {
    if (fresh.length === 0) return;
    const stored = await this.#db
      .selectFrom('slot_days')
      .selectAll()
      .where(
        this.#dialect.inList(
          'check_id',
          fresh.map(([id]) => id),
        ),
      )
      .where('day_ms', 'in', [...new Set(fresh.map(([, day]) => day))])
      .execute();
    const contents = new Map(stored.map((row) => [`${row.check_id} ${row.day_ms}`, row.content]));
    const rows = fresh.map(([id, day, segments]) => {
      const before = contents.get(`${id} ${day}`);
      const content = encodeSegments(joined([...(before ? decodeSegments(before) : []), ...segments]));
      return { check_id: id, day_ms: day, content };
    });
    for (const portion of this.#dialect.portions(rows)) {
      await this.#db
        .insertInto('slot_days')
        .values(portion)
        .onConflict((conflict) =>
          conflict
            .columns(['check_id', 'day_ms'])
            .doUpdateSet((eb) => ({ content: eb.ref('excluded.content') })),
        )
        .execute();
    }
  }

  /** Slots of checks that were due in a span or near it, sealed or not, by check. */
  async within(checkIds: readonly string[], span: Span): Promise<Map<string, DaySlots[]>> {
    const found = new Map<string, DaySlots[]>();
    for (let start = 0; start < checkIds.length; start += checksPerStatement) {
      const some = checkIds.slice(start, start + checksPerStatement);
      // Read first, in one statement, so that slots sealed from now on are in neither part twice.
      const sealed = await this.#sealed(some, span);
      const unsealed = await this.#unsealed(
        some.map((id) => [id, sealed.get(id)?.until ?? 0]),
        span,
      );
      for (const id of some) {
        found.set(id, [...(sealed.get(id)?.days ?? []), new DaySlots(unsealed.get(id) ?? [])]);
      }
    }
    return found;
  }

  async #sealed(checkIds: readonly string[], { from, to }: Span): Promise<Map<string, SealedDays>> {
    const rows = await this.#db
      .selectFrom('slot_seals')
      .leftJoin('slot_days', (join) =>
        join
          .onRef('slot_days.check_id', '=', 'slot_seals.check_id')
          .on('slot_days.day_ms', '>', from - dayMs)
          .on('slot_days.day_ms', '<', to),
      )
      .select(['slot_seals.check_id', 'slot_seals.until_ms', 'slot_days.content'])
      .where(this.#dialect.inList('slot_seals.check_id', checkIds))
      .execute();
    const found = new Map<string, SealedDays>();
    for (const { check_id: id, until_ms: until, content } of rows) {
      const own = found.get(id) ?? { until, days: [] };
      if (content) own.days.push(decodedDay(this.#cache, content));
      found.set(id, own);
    }
    return found;
  }

  /** From the ledger: records of checks that begin at or after an instant, if they overlap the span. */
  async #unsealed(since: readonly Since[], { from, to }: Span): Promise<Map<string, SlotSegment[]>> {
    const found = new Map<string, SlotSegment[]>();
    for (const part of inParts(since)) {
      const rows = await this.#ledgerSlots(part, { from, to });
      const results = await finalResultsOf(this.#db, this.#dialect, rows, ['has_errors']);
      for (const row of rows) {
        const own = found.get(row.check_id) ?? [];
        own.push(segmentOf(row, results.get(row.id)?.has_errors === 1));
        found.set(row.check_id, own);
      }
    }
    return found;
  }

  async #ledgerSlots(since: readonly Since[], { from, to }: Span): Promise<LedgerSlots[]> {
    const earliest = leastOf(since.map(([, at]) => at));
    const { rows } = await sql<LedgerSlots>`
      select runs.id, runs.check_id, runs.slot_location, runs.slot_at, runs.slot_count, runs.state, runs.reason,
        runs.ended, runs.last_result_id, case when runs.slot_count > 1 then coalesce(runs.slot_interval_ms,
          (select checks.interval_ms from checks where checks.id = runs.check_id)) end as stride_ms
      from ${this.#dialect.pairRows(['check_id', 'since'], since)} as asked cross join runs
      where runs.check_id = asked.check_id and runs.slot_at >= asked.since and runs.slot_at < ${to}
        and runs.slot_at >= ${earliest} and ${isSince(earliest)} and (runs.slot_at >= ${from} or runs.slot_count > 1)
        and runs.check_session_id is null and runs.test_session_id is null`.execute(this.#db);
    return rows;
  }

  /** Deletes up to `limit` days of the given checks that ended before an instant. Returns the number deleted. */
  async prune(checkIds: readonly string[], before: number, limit: number): Promise<number> {
    if (checkIds.length === 0) return 0;
    const days = atAddresses(
      this.#dialect,
      (address) => sql`select ${address} from slot_days
        where ${this.#dialect.inList('check_id', checkIds)} and day_ms <= ${before - dayMs} limit ${limit}`,
    );
    const done = await this.#db.deleteFrom('slot_days').where(days).executeTakeFirst();
    return Number(done.numDeletedRows);
  }
}

/** A span of a check that can be sealed. */
export interface NextSeal extends Span {
  /** About how many slots of one location it has. */
  readonly slots: number;
}

/** Divides checks so that what is sealed of them together is no more than of one with a long history. */
export function sealedTogether(seals: ReadonlyMap<string, NextSeal>): string[][] {
  const portions: string[][] = [];
  let left = 0;
  for (const [id, { slots }] of seals) {
    if (slots > left) {
      portions.push([]);
      left = slotsPerSeal;
    }
    portions.at(-1)?.push(id);
    left -= slots;
  }
  return portions;
}

/** A check, and the instant from which its slots are read. */
type Since = readonly [checkId: string, since: number];

/**
 * Those with a seal, and those without. PostgreSQL has no statistics on the instants in pairs and would read the whole
 * ledger for the few unsealed slots, unless it is given a single lower bound. A check without any seal would make that
 * bound useless for the others.
 */
function inParts(since: readonly Since[]): readonly (readonly Since[])[] {
  const parts = [since.filter(([, at]) => at > 0), since.filter(([, at]) => at === 0)];
  return parts.filter((part) => part.length > 0);
}

function segmentOf(row: LedgerSlots, hasErrors: boolean): SlotSegment {
  return {
    location: row.slot_location,
    outcome: outcomeOf({ state: row.state, reason: row.reason, hasErrors }),
    firstAt: row.slot_at,
    strideMs: row.stride_ms ?? 0,
    count: row.slot_count,
  };
}

/** Splits segments at midnight, by day. */
function byDay(segments: readonly SlotSegment[]): Map<number, SlotSegment[]> {
  const days = new Map<number, SlotSegment[]>();
  for (const segment of segments) {
    const lastAt = segment.firstAt + (segment.count - 1) * segment.strideMs;
    for (let day = startOf(segment.firstAt, dayMs); day <= lastAt; day += dayMs) {
      const part = slotsWithin(segment, { from: day, to: day + dayMs });
      if (!part) continue;
      const others = days.get(day);
      if (others) others.push(part);
      else days.set(day, [part]);
    }
  }
  return days;
}

function startOf(instant: number, lengthMs: number): number {
  return Math.floor(instant / lengthMs) * lengthMs;
}
