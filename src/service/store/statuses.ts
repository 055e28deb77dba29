import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { batches } from './batches.ts';
import type { StatusRow, Tables } from './tables.ts';

/** What a final result says about the state of its check. */
export interface StatusChange {
  readonly checkId: string;
  readonly accountId: string;
  readonly hasFailures: boolean;
  readonly hasErrors: boolean;
  readonly isDegraded: boolean;
  /** The response time, or null when the target gave no answer to time. */
  readonly measuredMs: number | null;
  readonly location: string;
  readonly checkRunId: number;
  readonly slotAt: number;
}

/** The present state of every check that has run. */
export class Statuses {
  readonly #db: Kysely<Tables>;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  /**
   * Applies final results. The newest slot decides; results of one slot (a check that runs in several locations at
   * once) add up; an older slot that is reported late changes nothing but the longest and shortest run.
   */
  async apply(changes: readonly StatusChange[], now: number): Promise<void> {
    for (const round of roundsOf(changes)) {
      for (const batch of batches(round)) await this.#upsert(batch, now);
    }
  }

  async #upsert(changes: readonly StatusChange[], now: number): Promise<void> {
    const flag = (value: boolean) => (value ? (1 as const) : (0 as const));
    await this.#db
      .insertInto('statuses')
      .values(
        changes.map((change) => ({
          check_id: change.checkId,
          account_id: change.accountId,
          has_failures: flag(change.hasFailures),
          has_errors: flag(change.hasErrors),
          is_degraded: flag(change.isDegraded),
          longest_run: change.measuredMs,
          shortest_run: change.measuredMs,
          last_run_location: change.location,
          last_check_run_id: change.checkRunId,
          last_slot_at: change.slotAt,
          ssl_days_remaining: null,
          created: now,
          updated: null,
        })),
      )
      .onConflict((conflict) =>
        conflict.column('check_id').doUpdateSet({
          has_failures: newerOrBoth('has_failures'),
          has_errors: newerOrBoth('has_errors'),
          is_degraded: newerOrBoth('is_degraded'),
          longest_run: extreme('longest_run', '>'),
          shortest_run: extreme('shortest_run', '<'),
          last_run_location: newer<string>('last_run_location'),
          last_check_run_id: newer<number>('last_check_run_id'),
          last_slot_at: newer<number>('last_slot_at'),
          updated: now,
        }),
      )
      .execute();
  }

  async find(accountId: string, checkId: string): Promise<StatusRow | undefined> {
    return this.#db
      .selectFrom('statuses')
      .selectAll()
      .where('check_id', '=', checkId)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
  }

  /** The statuses of an account with the names of their checks. */
  async list(accountId: string): Promise<(StatusRow & { name: string })[]> {
    return this.#db
      .selectFrom('statuses')
      .innerJoin('checks', 'checks.id', 'statuses.check_id')
      .selectAll('statuses')
      .select('checks.name')
      .where('statuses.account_id', '=', accountId)
      .orderBy('checks.created', 'desc')
      .orderBy('checks.id', 'desc')
      .execute();
  }

  async delete(checkId: string): Promise<void> {
    await this.#db.deleteFrom('statuses').where('check_id', '=', checkId).execute();
  }
}

/**
 * Changes in rounds of at most one for each check, because one statement cannot change a row twice. Each round is in the
 * order of the checks, so that two transactions cannot wait for each other.
 */
function roundsOf(changes: readonly StatusChange[]): StatusChange[][] {
  const rounds: StatusChange[][] = [];
  const seen = new Map<string, number>();
  for (const change of changes) {
    const index = seen.get(change.checkId) ?? 0;
    seen.set(change.checkId, index + 1);
    const round = rounds[index] ?? [];
    round.push(change);
    rounds[index] = round;
  }
  for (const round of rounds) round.sort((left, right) => (left.checkId < right.checkId ? -1 : 1));
  return rounds;
}

/** The new value when its slot is as new as the stored one. */
function newer<Value>(column: string) {
  const stored = sql.ref(`statuses.${column}`);
  const offered = sql.ref(`excluded.${column}`);
  return sql<Value>`case when excluded.last_slot_at >= statuses.last_slot_at then ${offered} else ${stored} end`;
}

/** A flag: the newer slot's, or either one when both are of the same slot. */
function newerOrBoth(column: string) {
  const stored = sql.ref(`statuses.${column}`);
  const offered = sql.ref(`excluded.${column}`);
  return sql<0 | 1>`case
    when excluded.last_slot_at > statuses.last_slot_at then ${offered}
    when excluded.last_slot_at = statuses.last_slot_at and ${offered} > ${stored} then ${offered}
    else ${stored} end`;
}

function extreme(column: string, comparison: '>' | '<') {
  const stored = sql.ref(`statuses.${column}`);
  const offered = sql.ref(`excluded.${column}`);
  const better = comparison === '>' ? sql`${offered} > ${stored}` : sql`${offered} < ${stored}`;
  return sql<number | null>`case when ${stored} is null or ${better} then ${offered} else ${stored} end`;
}
