import { instantOfLocal, localTime } from '@picket/lib/time-zone.ts';
import type { repeatUnits } from '@picket/protocol/pages/maintenance-window.ts';

/**
 * Recurrence of maintenance windows (check model 2.7). Occurrences are computed from the first one and not stored: the
 * n-th of a monthly window is n months after the first, on its day, or on the last day of a month that is too short, so
 * that a window on the 31st is back on the 31st after February. Changes of single occurrences are in calendar.ts.
 *
 * Occurrences follow the calendar and clocks of the window's time zone: start and end keep their local time across
 * daylight saving changes, so an occurrence may be an hour longer or shorter. For local times that clocks skip or
 * repeat, see `instantOfLocal`; an occurrence that would thereby end before it starts lasts as long as the first. In
 * UTC all have the same length, so plain arithmetic suffices.
 */
export interface RepeatRule {
  /** Epoch milliseconds. */
  readonly startsAt: number;
  readonly endsAt: number;
  readonly repeat: { readonly interval: number; readonly unit: (typeof repeatUnits)[number] } | null;
  /** No occurrence starts later. */
  readonly repeatEndsAt: number | null;
  readonly timeZone: string;
}

export interface Occurrence {
  /** 0 for the first occurrence. */
  readonly index: number;
  readonly startsAt: number;
  readonly endsAt: number;
}

const dayMs = 86_400_000;
/** Last instant that ISO 8601 can write with a four-digit year: responses cannot show a later one. */
const lastInstant = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The n-th occurrence of a rule, or null if it does not exist. */
export function occurrence(rule: RepeatRule, index: number): Occurrence | null {
  if (!Number.isSafeInteger(index) || index < 0 || (rule.repeat === null && index > 0)) return null;
  if (daysAhead(rule, index) > lastInstant / dayMs) return null;
  const startsAt = startOf(rule, index);
  const endsAt = endOf(rule, index);
  const isOver = index > 0 && rule.repeatEndsAt !== null && startsAt > rule.repeatEndsAt;
  return isOver || !(endsAt <= lastInstant) ? null : { index, startsAt, endsAt };
}

/** The occurrence that contains an instant (its end excluded), the earliest one if several overlap, or null. */
export function occurrenceAt(rule: RepeatRule, instant: number): Occurrence | null {
  const [first] = occurrencesFrom(rule, instant);
  return first && first.startsAt <= instant ? first : null;
}

/** Occurrences that are not over at an instant, soonest first. */
export function* occurrencesFrom(rule: RepeatRule, instant: number): Generator<Occurrence> {
  // Long occurrences overlap, so earlier ones may still last. Binary search, as there can be millions.
  const latest = latestStarted(rule, instant) ?? -1;
  let [first, end] = [Math.max(0, latest - mostAtOnce(rule)), latest + 1];
  while (first < end) {
    const middle = Math.floor((first + end) / 2);
    if (endOf(rule, middle) > instant) end = middle;
    else first = middle + 1;
  }
  for (let next = occurrence(rule, first); next; next = occurrence(rule, next.index + 1)) yield next;
}

/** Minimum number of days between the first occurrence and the given one. */
function daysAhead({ repeat }: RepeatRule, index: number): number {
  return repeat === null ? 0 : index * repeat.interval * shortestDays[repeat.unit];
}

/** Maximum number of simultaneous occurrences, plus one for hours that clocks skip or repeat. */
function mostAtOnce({ startsAt, endsAt, repeat }: RepeatRule): number {
  const shortestMs = repeat === null ? 1 : repeat.interval * shortestDays[repeat.unit] * dayMs;
  return Math.ceil((endsAt - startsAt + dayMs) / shortestMs) + 1;
}

/** End of the last occurrence; null if there is no last one. */
export function lastEnd(rule: RepeatRule): number | null {
  if (rule.repeat === null) return rule.endsAt;
  if (rule.repeatEndsAt === null) return null;
  const index = latestStarted(rule, rule.repeatEndsAt) ?? 0;
  return endOf(rule, index);
}

/** Index of the latest occurrence that has started by an instant, or null before the first one. */
export function latestStarted(rule: RepeatRule, instant: number): number | null {
  if (instant < rule.startsAt) return null;
  const until = rule.repeatEndsAt === null ? instant : Math.min(instant, rule.repeatEndsAt);
  let index = Math.max(0, indexNear(rule, until));
  while (index > 0 && startOf(rule, index) > until) index -= 1;
  return index;
}

/** Index of the latest occurrence that starts before an instant, or slightly more. */
function indexNear(rule: RepeatRule, instant: number): number {
  if (rule.repeat === null) return 0;
  const { interval, unit } = rule.repeat;
  // Clocks of one zone never differ by more than a day.
  const ahead = rule.timeZone === 'UTC' ? 0 : dayMs;
  if (unit !== 'MONTH') {
    return Math.floor((instant + ahead - rule.startsAt) / (interval * shortestDays[unit] * dayMs));
  }
  const [from, to] = [new Date(rule.startsAt - ahead), new Date(instant + ahead)];
  const months = (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth();
  return Math.floor(months / interval);
}

const shortestDays = { DAY: 1, WEEK: 7, MONTH: 28 } as const;
const stepOf = { DAY: 'days', WEEK: 'weeks', MONTH: 'months' } as const;

function startOf(rule: RepeatRule, index: number): number {
  if (rule.repeat === null || index === 0) return rule.startsAt;
  const { interval, unit } = rule.repeat;
  if (rule.timeZone !== 'UTC') return instantOfLocal(localStart(rule, index), rule.timeZone);
  if (unit !== 'MONTH') return rule.startsAt + index * interval * shortestDays[unit] * dayMs;
  const first = new Date(rule.startsAt);
  const month = first.getUTCMonth() + index * interval;
  const lastDay = new Date(Date.UTC(first.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const day = Math.min(first.getUTCDate(), lastDay);
  return Date.UTC(first.getUTCFullYear(), month, day) + (rule.startsAt % dayMs);
}

function endOf(rule: RepeatRule, index: number): number {
  const lengthMs = rule.endsAt - rule.startsAt;
  if (rule.repeat === null || index === 0) return rule.endsAt;
  const startsAt = startOf(rule, index);
  if (rule.timeZone === 'UTC') return startsAt + lengthMs;
  const localLength = localTime(rule.startsAt, rule.timeZone).until(localTime(rule.endsAt, rule.timeZone));
  const endsAt = instantOfLocal(localStart(rule, index).add(localLength), rule.timeZone);
  return endsAt > startsAt ? endsAt : startsAt + lengthMs;
}

/** Local time at which an occurrence starts, unless clocks skip it. */
function localStart({ repeat, startsAt, timeZone }: RepeatRule, index: number) {
  const first = localTime(startsAt, timeZone);
  return repeat === null ? first : first.add({ [stepOf[repeat.unit]]: index * repeat.interval });
}

interface RuleFields {
  readonly startsAt: string;
  readonly endsAt: string;
  readonly repeatInterval: number | null;
  readonly repeatUnit: (typeof repeatUnits)[number] | null;
  readonly repeatEndsAt: string | null;
  /** Absent in windows that an older build stored. */
  readonly timezone?: string;
}

/** Rule of a window as written. If its times cannot be read, it has no duration. */
export function ruleOf(window: Readonly<Record<string, unknown>>): RepeatRule {
  const fields = window as unknown as RuleFields;
  const { repeatInterval: interval, repeatUnit: unit, repeatEndsAt } = fields;
  return {
    startsAt: firstTime(fields.startsAt, fields.endsAt),
    endsAt: firstTime(fields.endsAt, fields.startsAt),
    repeat: interval === null || unit === null ? null : { interval, unit },
    repeatEndsAt: repeatEndsAt === null ? null : Date.parse(repeatEndsAt),
    timeZone: fields.timezone ?? 'UTC',
  };
}

/** The first readable one of several times; 0 if none can be read. */
function firstTime(...times: readonly string[]): number {
  return times.map((time) => Date.parse(time)).find(Number.isFinite) ?? 0;
}
