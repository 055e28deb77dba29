import { isDeepStrictEqual } from 'node:util';
import { ActiveHours } from '@picket/checks/contract/definition/active-hours.ts';
import { Schedule } from '@picket/checks/contract/definition/schedule.ts';
import { failingPeriodSeconds } from '@picket/checks/contract/frequency.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { type CalendarRule, nextTimes, zoneOf } from '@picket/lib/calendar/calendar.ts';
import { hoursWithin } from '@picket/lib/calendar/hours.ts';
import { CalendarSyntaxError } from '@picket/lib/calendar/on-calendar.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { isTimeZone } from '@picket/lib/time-zone.ts';
import type { Check } from '../store.ts';
import { gridOf, locationsOf, type SlotGrid, slotGrid, spreadOf } from './slots.ts';
import { calendarTimes, gridTimes, horizonMs, hoursTimes, type Timetable, timesWithin } from './timetable.ts';

/** When a check runs, by its settings in effect. */
export interface Timing {
  /** The grid of its frequency. */
  readonly grid: SlotGrid;
  /** That of its frequency while it fails; null: the same. */
  readonly failingGrid: SlotGrid | null;
  /** Whether all slots of the grid are due, whatever happens: the next follows from the last by adding the interval. */
  readonly isPlain: boolean;
  /** While it does not fail. */
  readonly usual: Timetable;
  /** While it fails; null: the usual one. */
  readonly failing: Timetable | null;
  readonly hours: ActiveHours | null;
  /** In place of the grid. */
  readonly schedule: CalendarRule | null;
}

type Timed = Pick<Check, 'id' | 'definition'>;

const knownTimings = new WeakMap<Timed['definition'], { readonly id: string; readonly timing: Timing }>();

/** The timing of a check. Stored definitions are shared by all that read them, so that it is known for most. */
export function timingOf(check: Timed): Timing {
  const known = knownTimings.get(check.definition);
  if (known?.id === check.id) return known.timing;
  const timing = newTimingOf(check);
  if (Object.isFrozen(check.definition)) knownTimings.set(check.definition, { id: check.id, timing });
  return timing;
}

function newTimingOf(check: Timed): Timing {
  const grid = gridOf(check);
  const fast = failingGridOf(check);
  const hours = hoursOf(check);
  const schedule = scheduleOf(check);
  const times = (one: SlotGrid) => (hours ? hoursTimes(one, hours, spreadOf(check.id)) : gridTimes(one));
  return {
    grid,
    failingGrid: fast,
    isPlain: fast === null && hours === null && schedule === null,
    usual: schedule ? calendarIn(schedule, hours) : times(grid),
    failing: fast && times(fast),
    hours,
    schedule,
  };
}

/** Whether two timings have the same slots. */
export function areSameSlots(one: Timing, other: Timing): boolean {
  const partsOf = ({ grid, failingGrid, hours, schedule }: Timing) => [grid, failingGrid, hours, schedule];
  return isDeepStrictEqual(partsOf(one), partsOf(other));
}

/** Whether slots of a check depend on the check's state. */
export function changesWhenFailing({ definition }: Pick<Check, 'definition'>): boolean {
  return typeof definition.frequencyWhileFailing === 'number';
}

/** The slots that are due. */
export function dueTimes({ usual, failing }: Timing, isFailing: boolean): Timetable {
  return isFailing ? (failing ?? usual) : usual;
}

/**
 * When the scheduler looks at a check next: its next slot, whether it fails by then or not. Without one within the
 * horizon it looks again at the end of that.
 */
export function looksAgainAt({ usual, failing }: Timing, afterMs: number): number {
  const next = [usual, failing].flatMap((times) => times?.next(afterMs) ?? []);
  return Math.min(afterMs + horizonMs, ...next);
}

/** Since when, or from when on, a check is outside its hours until it is due again; null if it is not in between. */
export function restsFrom({ hours }: Timing, now: number, nextSlotAt: number): number | null {
  if (!hours) return null;
  const [span] = hoursWithin(hours, { from: now, to: now + 1 });
  const from = span ? span.to : now;
  return from < nextSlotAt ? from : null;
}

/** Whether a check has slots: it is activated, has locations, and agents run its type. */
export function isScheduled(check: Pick<Check, 'checkType' | 'activated' | 'definition'>): boolean {
  // Types that no agent runs have no slots.
  if (findCheckType(check.checkType)?.pings) return false;
  return check.activated && locationsOf(check.definition).length > 0;
}

/** The grid of a check while it fails; null if it is the same as always. */
function failingGridOf({ id, definition }: Timed): SlotGrid | null {
  const { frequencyWhileFailing } = definition;
  if (typeof frequencyWhileFailing !== 'number') return null;
  // The offset of the check itself: slots that both grids have are the same.
  const grid = gridOf({ id, definition });
  const { intervalMs } = slotGrid({
    id,
    frequency: frequencyWhileFailing,
    frequencyOffset: failingPeriodSeconds,
  });
  return { intervalMs, phaseMs: grid.phaseMs % intervalMs };
}

function calendarIn(schedule: CalendarRule, hours: ActiveHours | null): Timetable {
  const times = calendarTimes(schedule);
  return hours ? timesWithin(times, hours) : times;
}

const knownSchedules = new LruMap<string, CalendarRule | null>(1_000);

/** A schedule that this build does not understand counts as none: the check runs at its frequency rather than not. */
function scheduleOf({ definition: { schedule } }: Pick<Check, 'definition'>): CalendarRule | null {
  if (schedule === null || schedule === undefined) return null;
  return knownSchedules.getOrMake(JSON.stringify(schedule), () => {
    const { data } = Schedule.safeParse(schedule);
    if (!data) return null;
    try {
      zoneOf(data);
      return data;
    } catch (thrown) {
      if (thrown instanceof CalendarSyntaxError) return null;
      throw thrown;
    }
  });
}

const timesMeasured = 12;
const dayMs = 86_400_000;

/** Milliseconds between two slots of a check; the longest of the next distances if they differ. */
export function intervalOf(check: Timed, now: number): number {
  const schedule = scheduleOf(check);
  if (!schedule) return gridOf(check).intervalMs;
  const times = nextTimes(schedule, now, timesMeasured);
  return Math.max(0, ...times.slice(1).map((at, index) => at - (times[index] ?? at))) || dayMs;
}

const knownHours = new LruMap<string, ActiveHours | null>(1_000);

/** Hours that this build does not understand count as none: the check runs rather than not. */
function hoursOf({ definition: { activeHours } }: Pick<Check, 'definition'>): ActiveHours | null {
  if (activeHours === null || activeHours === undefined) return null;
  return knownHours.getOrMake(JSON.stringify(activeHours), () => {
    const { data } = ActiveHours.safeParse(activeHours);
    return data && isTimeZone(data.timeZone) ? data : null;
  });
}
