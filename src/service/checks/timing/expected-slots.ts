import type { PingExpectation } from '@picket/checks/contract/frequency.ts';
import { zoneOf } from '@picket/lib/calendar/calendar.ts';
import { CalendarSyntaxError } from '@picket/lib/calendar/on-calendar.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { calendarTimes, gridTimes, lastOf, type SlotRow } from './timetable.ts';
import type { Timing } from './timing.ts';

/** A period in epoch milliseconds; the end is exclusive. */
interface Period {
  readonly from: number;
  readonly to: number;
}

/** The times of a check or of pings, by settings alone. */
export type ExpectedTimes = Pick<Timing, 'usual' | 'schedule' | 'hours'>;

const dayMs = 86_400_000;
/** Hours are read in steps, so that counting can stop. */
const stepMs = 8 * dayMs;
/** Times of a calendar are computed one by one: the rows of its days are kept, some megabytes of them. */
const knownDays = new LruMap<string, readonly SlotRow[]>(50_000, (rows) => 1 + rows.length);

/**
 * The number of slots that a check has in a period by its settings, in its hours and by its schedule, as if it never
 * failed. The ledger has the slots that were due; this number is for deciding how to read it.
 *
 * @param most counting may stop there: the result is then at least this.
 */
export function expectedSlots(timing: ExpectedTimes, period: Period, most: number): number {
  return timing.schedule ? countOfCalendar(timing, period, most) : countOfGrid(timing, period, most);
}

function countOfGrid({ usual }: ExpectedTimes, { from, to }: Period, most: number): number {
  let count = 0;
  for (let start = from; start < to && count < most; start += stepMs) {
    const { rows } = usual.list(start, Math.min(to, start + stepMs) - 1, Number.POSITIVE_INFINITY);
    count += rows.reduce((sum, row) => sum + row.count, 0);
  }
  return count;
}

function countOfCalendar(
  { usual, schedule, hours }: ExpectedTimes,
  { from, to }: Period,
  most: number,
): number {
  const name = JSON.stringify([schedule, hours]);
  let count = 0;
  // From each time to its day: most days of a rare one have none.
  for (let at = usual.next(from - 1); at !== null && at < to && count < most; ) {
    const day = Math.floor(at / dayMs) * dayMs;
    const rows = knownDays.getOrMake(`${day} ${name}`, () => rowsOf(usual, { from: day, to: day + dayMs }));
    count += rows.reduce((sum, row) => sum + countWithin(row, { from, to }), 0);
    at = usual.next(day + dayMs - 1);
  }
  return count;
}

/** All slots of a period. */
function rowsOf(usual: Timing['usual'], { from, to }: Period): SlotRow[] {
  const rows: SlotRow[] = [];
  for (let start = from; start < to; ) {
    const part = usual.list(start, to - 1, Number.POSITIVE_INFINITY);
    rows.push(...part.rows);
    start = part.untilMs + 1;
  }
  return rows;
}

function countWithin(row: SlotRow, { from, to }: Period): number {
  const { firstAt, strideMs, count } = row;
  if (firstAt >= from && lastOf(row) < to) return count;
  if (count === 1) return 0;
  const first = Math.max(0, Math.ceil((from - firstAt) / strideMs));
  const end = Math.min(count, Math.ceil((to - firstAt) / strideMs));
  return Math.max(0, end - first);
}

/** The times at which pings are expected; null without any, or if this build does not understand their schedule. */
export function timesOfPings({
  periodMs,
  schedule,
}: Pick<PingExpectation, 'periodMs' | 'schedule'>): ExpectedTimes | null {
  if (schedule === null) {
    if (periodMs === null) return null;
    return { usual: gridTimes({ intervalMs: periodMs, phaseMs: 0 }), schedule, hours: null };
  }
  try {
    zoneOf(schedule);
    return { usual: calendarTimes(schedule), schedule, hours: null };
  } catch (thrown) {
    if (thrown instanceof CalendarSyntaxError) return null;
    throw thrown;
  }
}
