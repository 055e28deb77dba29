import { type RawBuilder, sql } from 'kysely';
import { dayMs, dayOf } from './day-ranges.ts';

/**
 * Where a run is: `ended_day` is 0 while it is on its way, and the beginning of the day (UTC) of its end after it.
 * On PostgreSQL each day is a partition, and so are the few runs on their way: a statement that says which it means
 * reads nothing else. Runs of before there were days have -1, ended or not, so conditions on days include them.
 * On SQLite, where all are one table, the conditions hold as well and change nothing.
 */

/** The value of a run on its way. */
export const notEnded = 0;

/** What a run is given that ends now. */
export function endedAt(now: number): { readonly ended: number; readonly ended_day: number } {
  return { ended: now, ended_day: dayOf(now) };
}

/** Of what is on its way, and of before there were days. */
export const isUnfinished: RawBuilder<boolean> = sql`ended_day <= 0`;

/** By how much clocks may have been set between the slot of a run and its end. */
const slackMs = dayMs;

/** Of what is on its way or ended since an instant: any run whose slot, or whose start, is not before it. */
export function isSince(at: number): RawBuilder<boolean> {
  return sql`(ended_day <= 0 or ended_day >= ${dayOf(at) - slackMs})`;
}

/** Of what ended in a span. */
export function hasEndedWithin(from: number, to: number): RawBuilder<boolean> {
  return sql`(ended_day < 0 or (ended_day >= ${dayOf(from)} and ended_day <= ${to}))`;
}
