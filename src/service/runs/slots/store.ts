import { isSince } from '@picket/platform/store/days/ended-day.ts';
import { finalResultsOf } from '@picket/platform/store/days/final-results.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { Cursor } from '@picket/protocol/http/cursor.ts';
import { sql } from 'kysely';
import type { RunState } from '../tables.ts';

export interface SlotFilter {
  readonly from: number;
  readonly to: number;
  readonly location?: string | undefined;
  readonly state?: RunState | undefined;
  readonly reason?: string | undefined;
}

/** A slot with the result that measured it. */
export interface SlotRow {
  readonly id: string;
  readonly slot_location: string;
  readonly slot_at: number;
  readonly slot_count: number;
  readonly state: RunState;
  readonly reason: string | null;
  readonly ended: number | null;
  readonly result_id: string | null;
  readonly start_delay: number | null;
  readonly response_time: number | null;
  readonly has_failures: number | null;
  readonly has_errors: number | null;
  readonly is_degraded: number | null;
}

/** Slots of the schedule, read from the ledger. Runs of sessions are not slots. */
export class Slots extends Repository {
  /** Slots of a check after a cursor, newest first. */
  async ofCheck(
    checkId: string,
    filter: SlotFilter,
    page: { readonly limit: number; readonly cursor: Cursor | undefined },
  ): Promise<SlotRow[]> {
    const { cursor } = page;
    let query = this.#of(filter)
      .where('runs.check_id', '=', checkId)
      .select([
        'runs.id',
        'runs.slot_location',
        'runs.slot_at',
        'runs.slot_count',
        'runs.state',
        'runs.reason',
        'runs.ended',
        'runs.last_result_id',
      ]);
    if (cursor) {
      query = query.where(
        sql<boolean>`(runs.slot_at < ${cursor.created} or (runs.slot_at = ${cursor.created} and runs.id < ${cursor.id}))`,
      );
    }
    const slots = await query
      .orderBy('runs.slot_at', 'desc')
      .orderBy('runs.id', 'desc')
      .limit(page.limit)
      .execute();
    const results = await finalResultsOf(this.db, this.dialect, slots, [
      ...(['id', 'start_delay', 'response_time'] as const),
      ...(['has_failures', 'has_errors', 'is_degraded'] as const),
    ]);
    return slots.map(({ last_result_id: _attempt, ...slot }) => {
      const result = results.get(slot.id);
      return {
        ...slot,
        result_id: result?.id ?? null,
        start_delay: result?.start_delay ?? null,
        response_time: result?.response_time ?? null,
        has_failures: result?.has_failures ?? null,
        has_errors: result?.has_errors ?? null,
        is_degraded: result?.is_degraded ?? null,
      };
    });
  }

  /** The checks of an account. */
  async checkIdsOf(accountId: string): Promise<string[]> {
    const rows = await this.db
      .selectFrom('checks')
      .select('id')
      .where('account_id', '=', accountId)
      .execute();
    return rows.map(({ id }) => id);
  }

  #of({ from, to, location, state, reason }: SlotFilter) {
    let query = this.db
      .selectFrom('runs')
      .where(isSince(from))
      .where('runs.slot_at', '>=', from)
      .where('runs.slot_at', '<', to)
      .where('runs.check_session_id', 'is', null)
      .where('runs.test_session_id', 'is', null);
    if (location !== undefined) query = query.where('runs.slot_location', '=', location);
    if (state !== undefined) query = query.where('runs.state', '=', state);
    if (reason !== undefined) query = query.where('runs.reason', '=', reason);
    return query;
  }
}
