import type { Kysely } from 'kysely';
import type { Dialect } from '../engine/dialect.ts';
import type { Tables } from '../tables.ts';
import { finalResultsOf } from './final-results.ts';

const columns = [
  ...(['id', 'check_id', 'slot_at', 'slot_location', 'slot_count'] as const),
  ...(['state', 'reason', 'ended', 'last_result_id'] as const),
] as const;
export type OnDemandRun = Pick<Tables['runs'], (typeof columns)[number]>;

/** Maximum number of sessions; for checks that run on demand more often, only the newest runs are returned. */
const mostRuns = 2_000;

/**
 * Returns on-demand runs of checks, newest first. They are not part of the schedule, and thus not of availability.
 * There are few, and they are found by their sessions: the ledger has no index in this order.
 *
 * @param since sessions that began at or after it.
 */
export async function onDemandRuns(
  db: Kysely<Tables>,
  dialect: Dialect,
  checkIds: readonly string[],
  since: number,
): Promise<OnDemandRun[]> {
  if (checkIds.length === 0) return [];
  const sessions = await db
    .selectFrom('check_sessions')
    .select('id')
    .where(dialect.inList('check_id', checkIds))
    .where('started', '>=', since)
    .orderBy('started', 'desc')
    .limit(mostRuns)
    .execute();
  if (sessions.length === 0) return [];
  const ids = sessions.map(({ id }) => id);
  const runs = await db
    .selectFrom('runs')
    .select(columns)
    .where(dialect.inList('check_session_id', ids))
    .orderBy('slot_at', 'desc')
    .execute();
  return runs;
}

/** Returns the ids of the final results of such runs. */
export async function onDemandResultIds(
  db: Kysely<Tables>,
  dialect: Dialect,
  checkIds: readonly string[],
  since: number,
): Promise<string[]> {
  const runs = await onDemandRuns(db, dialect, checkIds, since);
  const results = await finalResultsOf(db, dialect, runs, ['id']);
  return [...results.values()].map(({ id }) => id);
}
