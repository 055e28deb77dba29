import { type RawBuilder, sql } from 'kysely';
import { dayMs, dayOf } from './day-ranges.ts';

/**
 * Partition key of runs: `ended_day` is 0 while a run is in progress, and the beginning of the day (UTC) of its end
 * afterwards. On PostgreSQL each day is a partition, and so are the few runs in progress: a statement that restricts
 * the day reads no other partition. Runs from before partitioning have -1, ended or not, so conditions on days include
 * them. On SQLite, with a single table, the conditions hold as well and change nothing.
 */

/** The value of a run in progress. */
export const notEnded = 0;

/** Columns of a run that ends now. */
export function endedAt(now: number): { readonly ended: number; readonly ended_day: number } {
  return { ended: now, ended_day: dayOf(now) };
}

/** Matches runs in progress and those from before partitioning. */
export const isUnfinished: RawBuilder<boolean> = sql`ended_day <= 0`;

/** Tolerance for clock changes between the slot of a run and its end. */
const slackMs = dayMs;

/** Matches runs in progress or ended since an instant: any run whose slot or start is not before it. */
export function isSince(at: number): RawBuilder<boolean> {
  return sql`(ended_day <= 0 or ended_day >= ${dayOf(at) - slackMs})`;
}

/** Matches runs that ended in a time range. */
export function hasEndedWithin(from: number, to: number): RawBuilder<boolean> {
  return sql`(ended_day < 0 or (ended_day >= ${dayOf(from)} and ended_day <= ${to}))`;
}
