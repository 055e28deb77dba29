import { type EventState, noteStates } from '@picket/checks/heartbeat/spec.ts';
import type { CalendarRule } from '@picket/lib/calendar/calendar.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { sql } from 'kysely';
import type { HeartbeatEventRow, HeartbeatRow } from './tables.ts';
import { countedFrom, expectedAfter, type Rhythm } from './timer.ts';

/** Settings that determine a heartbeat's timer. */
export interface HeartbeatWrite {
  readonly checkId: string;
  readonly accountId: string;
  readonly token: string;
  readonly periodMs: number | null;
  readonly schedule: CalendarRule | null;
  readonly graceMs: number;
  readonly longestRunMs: number | null;
  readonly isActive: boolean;
}

/** Number of pings and missed pings in a period, and how many of them are failures. */
export interface EventCount {
  readonly total: number;
  readonly failing: number;
}

/** Timers of checks whose targets call in, and their events. */
export class Heartbeats extends Repository {
  /**
   * Writes the settings of a timer. Activating or deactivating it clears its last ping. Fails with a unique violation
   * if another check has the token.
   *
   * @param now from when on another schedule applies.
   * @returns the timer before, if there was one.
   */
  async write(heartbeat: HeartbeatWrite, now: number): Promise<HeartbeatRow | undefined> {
    const { checkId, schedule } = heartbeat;
    const isActive = heartbeat.isActive ? (1 as const) : (0 as const);
    const settings = {
      ping_token: heartbeat.token,
      period_ms: heartbeat.periodMs ?? 0,
      schedule: schedule && JSON.stringify(schedule),
      grace_ms: heartbeat.graceMs,
      longest_run_ms: heartbeat.longestRunMs,
      is_active: isActive,
    };
    const before = await this.db
      .selectFrom('heartbeats')
      .selectAll()
      .where('check_id', '=', checkId)
      .modifyEnd(this.dialect.forUpdate)
      .executeTakeFirst();
    if (!before) {
      await this.db
        .insertInto('heartbeats')
        .values({
          check_id: checkId,
          account_id: heartbeat.accountId,
          ...settings,
          last_at: null,
          ...expectation(settings, null),
          last_slot_at: 0,
        })
        .execute();
      return before;
    }
    const lastAt = isActive === 1 && before.is_active === 1 ? before.last_at : null;
    const rhythm = ['period_ms', 'grace_ms', 'longest_run_ms', 'schedule'] as const;
    // A job that is running keeps its time to end.
    const isSame = lastAt !== null && rhythm.every((name) => settings[name] === before[name]);
    const isSameSchedule =
      lastAt !== null && settings.schedule !== null && settings.schedule === before.schedule;
    const from = lastAt === null || settings.schedule === null ? lastAt : Math.max(lastAt, now);
    const expected = isSameSchedule
      ? withDeadline(settings, before.expected_at)
      : expectation(settings, from);
    await this.db
      .updateTable('heartbeats')
      .set({
        ...settings,
        last_at: lastAt,
        ...(isSame ? {} : expected),
      })
      .where('check_id', '=', checkId)
      .execute();
    return before;
  }

  async find(checkId: string): Promise<HeartbeatRow | undefined> {
    return this.db.selectFrom('heartbeats').selectAll().where('check_id', '=', checkId).executeTakeFirst();
  }

  /** The check whose timer has the token. */
  async checkOfToken(token: string): Promise<string | undefined> {
    const found = this.db.selectFrom('heartbeats').select('check_id').where('ping_token', '=', token);
    return (await found.executeTakeFirst())?.check_id;
  }

  async findByToken(token: string): Promise<HeartbeatRow | undefined> {
    return this.db
      .selectFrom('heartbeats')
      .selectAll()
      .where('ping_token', '=', token)
      .modifyEnd(this.dialect.forUpdate)
      .executeTakeFirst();
  }

  /** Timers whose grace time is over, longest overdue first; locked until the end of the transaction. */
  async overdue(now: number, limit: number): Promise<HeartbeatRow[]> {
    return this.db
      .selectFrom('heartbeats')
      .selectAll()
      .where('deadline_at', '<', now)
      .orderBy('deadline_at')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
  }

  /** Timers that expected a ping, or whose grace time ended, in a period; locked until the end of the transaction. */
  async expectedBetween(from: number, to: number): Promise<HeartbeatRow[]> {
    return this.db
      .selectFrom('heartbeats')
      .selectAll()
      .where('deadline_at', '>=', from)
      .where('expected_at', '<=', to)
      .orderBy('check_id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
  }

  /** Advances a timer: the next ping is expected after `lastAt`. */
  async restart(row: HeartbeatRow, lastAt: number, lastSlotAt: number = row.last_slot_at): Promise<void> {
    await this.db
      .updateTable('heartbeats')
      .set({
        last_at: lastAt,
        ...expectation(row, countedFrom(row, lastAt)),
        last_slot_at: lastSlotAt,
      })
      .where('check_id', '=', row.check_id)
      .execute();
  }

  /** Moves the end of the grace time. */
  async defer(checkId: string, deadlineAt: number): Promise<void> {
    await this.db
      .updateTable('heartbeats')
      .set({ deadline_at: deadlineAt })
      .where('check_id', '=', checkId)
      .execute();
  }

  /** Timers of checks, without those that another transaction has locked; locked until the end of the transaction. */
  async lock(checkIds: readonly string[]): Promise<HeartbeatRow[]> {
    return this.db
      .selectFrom('heartbeats')
      .selectAll()
      .where(this.dialect.inList('check_id', checkIds))
      .orderBy('check_id')
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
  }

  /** When the next grace time ends, or null. */
  async nextDeadline(): Promise<number | null> {
    const row = await this.db
      .selectFrom('heartbeats')
      .select((eb) => eb.fn.min('deadline_at').as('at'))
      .where('deadline_at', 'is not', null)
      .executeTakeFirst();
    return row?.at ?? null;
  }

  /** When any process last examined the timers; null before the first time. */
  async lookedAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('heartbeat_watch')
      .select('looked_at')
      .where('id', '=', 1)
      .executeTakeFirst();
    return row?.looked_at ?? null;
  }

  async recordLook(now: number): Promise<void> {
    await this.db
      .insertInto('heartbeat_watch')
      .values({ id: 1, looked_at: now })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ looked_at: now }))
      .execute();
  }

  async insertEvent(row: HeartbeatEventRow): Promise<void> {
    await this.db.insertInto('heartbeat_events').values(row).execute();
  }

  async findEvent(checkId: string, id: string): Promise<HeartbeatEventRow | undefined> {
    return this.db
      .selectFrom('heartbeat_events')
      .selectAll()
      .where('id', '=', id)
      .where('check_id', '=', checkId)
      .executeTakeFirst();
  }

  /** Events in a window, newest first. */
  async events(
    checkId: string,
    window: { readonly from: number; readonly to: number; readonly states?: readonly EventState[] },
    page: { readonly limit: number; readonly offset: number },
  ): Promise<HeartbeatEventRow[]> {
    let query = this.db
      .selectFrom('heartbeat_events')
      .selectAll()
      .where('check_id', '=', checkId)
      .where('created', '>=', window.from)
      .where('created', '<', window.to);
    if (window.states) query = query.where(this.dialect.inList('state', window.states));
    return query
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute();
  }

  async countEvents(checkId: string, from: number, to: number): Promise<EventCount> {
    const row = await this.db
      .selectFrom('heartbeat_events')
      .select([
        (eb) => eb.fn.countAll<number>().as('total'),
        sql<number | null>`sum(case when state = 'FAILING' then 1 else 0 end)`.as('failing'),
      ])
      .where('check_id', '=', checkId)
      .where('created', '>=', from)
      .where('created', '<', to)
      .where('state', 'not in', noteStates)
      .executeTakeFirst();
    return { total: Number(row?.total ?? 0), failing: Number(row?.failing ?? 0) };
  }
}

type Expectation = Pick<HeartbeatRow, 'expected_at' | 'deadline_at'>;

/** When the next ping is expected after an instant, as columns. */
function expectation(rhythm: Rhythm, afterMs: number | null): Expectation {
  return withDeadline(rhythm, afterMs === null ? null : expectedAfter(rhythm, afterMs));
}

function withDeadline(
  { grace_ms: graceMs }: Pick<Rhythm, 'grace_ms'>,
  expectedAt: number | null,
): Expectation {
  return { expected_at: expectedAt, deadline_at: expectedAt === null ? null : expectedAt + graceMs };
}
