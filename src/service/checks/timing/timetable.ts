import { type CalendarRule, nextTime } from '@picket/lib/calendar/calendar.ts';
import { type HoursRule, hoursWithin } from '@picket/lib/calendar/hours.ts';
import { longestFreshnessMs } from '../state/silence.ts';
import { freshnessMs, nextSlotAfter, type SlotGrid, slotIndex } from './slots.ts';

/** Due slots at a constant distance. */
export interface SlotRow {
  readonly firstAt: number;
  /** Milliseconds between two of them. */
  readonly strideMs: number;
  readonly count: number;
}

/** The instants at which a check is due, in epoch milliseconds. */
export interface Timetable {
  /** First slot after an instant; null without one within the horizon. */
  next(afterMs: number): number | null;
  /** Newest slot at or before an instant; null without one within the horizon. */
  newest(atMs: number): number | null;
  /**
   * Slots from an instant to another, both included, in order.
   *
   * @param mostRows afterwards the list may end.
   */
  list(fromMs: number, toMs: number, mostRows: number): SlotList;
  /** How long a slot may wait in the queue before it is missed. */
  freshMs(slotAt: number): number;
}

export interface SlotList {
  readonly rows: readonly SlotRow[];
  /** All slots up to here are in the list, in epoch milliseconds. */
  readonly untilMs: number;
}

const dayMs = 86_400_000;
/** Hours are searched in steps of this length, and up to the horizon: a year of holidays, and some more. */
const stepMs = 8 * dayMs;
export const horizonMs = 416 * dayMs;

/** The last slot of a row. */
export function lastOf({ firstAt, strideMs, count }: SlotRow): number {
  return firstAt + (count - 1) * strideMs;
}

/** All slots of a grid. */
export function gridTimes(grid: SlotGrid): Timetable {
  const newest = (at: number) => grid.phaseMs + slotIndex(grid, at) * grid.intervalMs;
  return {
    next: (after) => nextSlotAfter(grid, after),
    newest,
    list: (from, to) => {
      const row = gridRow(grid, { from, to: to + 1 });
      return { rows: row ? [row] : [], untilMs: to };
    },
    freshMs: () => freshnessMs(grid),
  };
}

/**
 * Slots of a grid in hours of the week. A span of hours without a slot of the grid, which are shorter than its
 * interval, has one of its own: a daily check with hours from 8 to 18 would never run otherwise.
 *
 * @param share position of that slot in its span, from 0 up to 1.
 */
export function hoursTimes(grid: SlotGrid, rule: HoursRule, share: number): Timetable {
  const rowsWithin = (from: number, to: number): SlotRow[] =>
    hoursWithin(rule, { from, to: to + 1 }).flatMap((span) => {
      const isOfGrid = gridRow(grid, span) !== null;
      const own = span.from + Math.floor(share * (span.to - span.from));
      const row = isOfGrid
        ? gridRow(grid, { from: Math.max(from, span.from), to: Math.min(to + 1, span.to) })
        : { firstAt: own, strideMs: grid.intervalMs, count: 1 };
      return row && row.firstAt >= from && row.firstAt <= to ? [row] : [];
    });
  return {
    next: (after) => {
      for (let from = after + 1; from <= after + horizonMs; from += stepMs) {
        const [first] = rowsWithin(from, from + stepMs - 1);
        if (first) return first.firstAt;
      }
      return null;
    },
    newest: (at) => {
      for (let to = at; to >= at - horizonMs; to -= stepMs) {
        const last = rowsWithin(to - stepMs + 1, to).at(-1);
        if (last) return lastOf(last);
      }
      return null;
    },
    list: (from, to, mostRows) => {
      const rows: SlotRow[] = [];
      for (let start = from; start <= to; start += stepMs) {
        const untilMs = Math.min(to, start + stepMs - 1);
        rows.push(...rowsWithin(start, untilMs));
        if (rows.length >= mostRows) return { rows, untilMs };
      }
      return { rows, untilMs: to };
    },
    freshMs: () => freshnessMs(grid),
  };
}

/** Times further back count as none: those of a leap day that is a Monday lie up to 40 years apart. */
const furthestBackMs = 6 * 366 * dayMs;
/** Times of a calendar are whole seconds. */
const secondMs = 1_000;
const mostSteps = 12;
const mostTimesAtOnce = 2_000;

/** Times of a calendar as slots. */
export function calendarTimes(rule: CalendarRule): Timetable {
  const next = (after: number) => nextTime(rule, after);
  const isBefore = (after: number, at: number) => (next(after) ?? Number.POSITIVE_INFINITY) <= at;
  const newest = (at: number) => {
    let back = 2 * 60_000;
    let found = next(at - back);
    while (found === null || found > at) {
      if (back > furthestBackMs) return null;
      back *= 6;
      found = next(at - back);
    }
    // Mostly there are few of them, one after another.
    for (let step = 0; step < mostSteps; step += 1) {
      const later = next(found);
      if (later === null || later > at) return found;
      found = later;
    }
    let [low, high] = [found - 1, at];
    while (high - low >= secondMs) {
      const middle = Math.floor((low + high) / 2);
      if (isBefore(middle, at)) low = middle;
      else high = middle;
    }
    return next(low);
  };
  return {
    next,
    newest,
    list: (from, to, mostRows) => {
      const rows: SlotRow[] = [];
      let [last, count] = [from - 1, 0];
      for (let at = next(last); at !== null && at <= to; at = next(at)) {
        const row = rows.at(-1);
        if (row && (row.count === 1 || lastOf(row) + row.strideMs === at)) {
          rows[rows.length - 1] = { ...row, strideMs: at - lastOf(row), count: row.count + 1 };
        } else {
          if (rows.length === mostRows || count >= mostTimesAtOnce) return { rows, untilMs: last };
          rows.push({ firstAt: at, strideMs: 0, count: 1 });
        }
        last = at;
        count += 1;
      }
      return { rows, untilMs: to };
    },
    freshMs: (slotAt) => Math.min((next(slotAt) ?? Number.POSITIVE_INFINITY) - slotAt, longestFreshnessMs),
  };
}

/** Those slots of a timetable that are in hours of the week. */
export function timesWithin(times: Timetable, rule: HoursRule): Timetable {
  const spans = (from: number, to: number) =>
    hoursWithin(rule, { from, to: to + 1 }).map((span) => ({
      from: Math.max(from, span.from),
      to: Math.min(to, span.to - 1),
    }));
  return {
    next: (after) => {
      let at = times.next(after);
      while (at !== null && at <= after + horizonMs) {
        const [span] = spans(at, at + stepMs);
        if (span?.from === at) return at;
        at = times.next(span ? span.from - 1 : at + stepMs);
      }
      return null;
    },
    newest: (from) => {
      let at = times.newest(from);
      while (at !== null && at >= from - horizonMs) {
        const span = spans(at - stepMs, at).at(-1);
        if (span?.to === at) return at;
        at = times.newest(span ? span.to : at - stepMs - 1);
      }
      return null;
    },
    list: (from, to, mostRows) => {
      const rows: SlotRow[] = [];
      for (let start = from; start <= to; start += stepMs) {
        const untilMs = Math.min(to, start + stepMs - 1);
        for (const span of spans(start, untilMs)) {
          const part = times.list(span.from, span.to, mostRows);
          rows.push(...part.rows);
          if (part.untilMs < span.to) return { rows, untilMs: part.untilMs };
        }
        if (rows.length >= mostRows) return { rows, untilMs };
      }
      return { rows, untilMs: to };
    },
    freshMs: (slotAt) => times.freshMs(slotAt),
  };
}

/** Slots of a grid in a span, whose end is exclusive; null without any. */
function gridRow(
  grid: SlotGrid,
  { from, to }: { readonly from: number; readonly to: number },
): SlotRow | null {
  const firstAt = nextSlotAfter(grid, from - 1);
  if (firstAt >= to) return null;
  const count = Math.floor((to - 1 - firstAt) / grid.intervalMs) + 1;
  return { firstAt, strideMs: grid.intervalMs, count };
}
