import { Temporal } from 'temporal-polyfill';
import { LruMap } from '../lru.ts';

/** Days of the week as rules name them, in the order of ISO 8601. */
export const weekdays = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const;
export type Weekday = (typeof weekdays)[number];

/** Times of the local clock on days of the week. */
export interface HoursWindow {
  readonly weekdays: readonly Weekday[];
  /** `HH:MM`. */
  readonly from: string;
  /** `HH:MM`, or `24:00`. Not after `from`: the window ends on the next day. */
  readonly to: string;
}

/** Hours of the week, and days without any. */
export interface HoursRule {
  /** Name in the time zone database. */
  readonly timeZone: string;
  /** Whether the windows are the hours (RUN), or what is left out of them (PAUSE). */
  readonly mode: 'RUN' | 'PAUSE';
  /** None: all hours of the week. */
  readonly windows: readonly HoursWindow[];
  /** Days without hours: `YYYY-MM-DD`, or the first and the last day with a slash between them. */
  readonly holidays: readonly string[];
}

/** Epoch milliseconds; the end is exclusive. */
export interface HoursSpan {
  readonly from: number;
  readonly to: number;
}

/** Minutes since midnight; the end is exclusive. */
type Minutes = readonly [from: number, to: number];

const dayMs = 86_400_000;
const dayMinutes = 1440;
/** Spans shorter than this are whole; longer ones may be cut off this far outside of the given period. */
export const wholeSpanMs = 2 * dayMs;
const maxCompiled = 1_000;
const maxDays = 64;

interface Compiled {
  readonly timeZone: string;
  /** Hours of each day of the week that is no holiday, Monday first, in order. */
  readonly week: readonly (readonly Minutes[])[];
  /** First and last days, in days since the epoch. */
  readonly holidays: readonly (readonly [first: number, last: number])[];
  /** Spans of recent days, by days since the epoch. */
  readonly days: Map<number, readonly HoursSpan[]>;
}

const compiled = new LruMap<string, Compiled>(maxCompiled);

/**
 * Spans of a rule that overlap a period, in order and apart from each other. They may reach out of the period: a span
 * of less than `wholeSpanMs` is whole.
 *
 * Times follow the local clock. A time that clocks skip is the moment at which they skip it; of one that comes twice,
 * the first counts.
 */
export function hoursWithin(rule: HoursRule, { from, to }: HoursSpan): HoursSpan[] {
  const hours = compile(rule);
  const last = localDay(to + wholeSpanMs, hours.timeZone);
  const spans: HoursSpan[] = [];
  for (let day = localDay(from - wholeSpanMs, hours.timeZone); day <= last; day += 1) {
    for (const span of spansOf(hours, day)) {
      const before = spans.at(-1);
      if (before?.to === span.from) spans[spans.length - 1] = { from: before.from, to: span.to };
      else spans.push(span);
    }
  }
  return spans.filter((span) => span.from < to && span.to > from);
}

/** The days of a text of `holidays`, in days since the epoch; null if it is not one. */
export function holidayDays(text: string): readonly [first: number, last: number] | null {
  const [firstText = '', lastText = firstText, ...more] = text.split('/');
  const [first, last] = [dayNumber(firstText), dayNumber(lastText)];
  return first === null || last === null || more.length > 0 || last < first ? null : [first, last];
}

/** The minutes since midnight of `HH:MM`; null if it is not one. `24:00` is the end of the day. */
export function minutesOfClock(text: string): number | null {
  const [, hours = '', minutes = ''] = /^(\d\d):(\d\d)$/.exec(text) ?? [];
  const total = Number(hours) * 60 + Number(minutes);
  return hours === '' || Number(minutes) > 59 || total > dayMinutes ? null : total;
}

function dayNumber(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const at = Date.parse(`${text}T00:00:00Z`);
  // Some engines read the 30th of February as the 2nd of March.
  return Number.isNaN(at) || !new Date(at).toISOString().startsWith(text) ? null : at / dayMs;
}

function compile(rule: HoursRule): Compiled {
  return compiled.getOrMake(JSON.stringify(rule), () => ({
    timeZone: rule.timeZone,
    week: weekdays.map((_day, index) => minutesOf(rule, index)),
    holidays: rule.holidays.flatMap((text) => {
      const days = holidayDays(text);
      return days ? [days] : [];
    }),
    days: new Map(),
  }));
}

/** Hours of a day of the week, sorted and apart from each other. */
function minutesOf({ mode, windows }: HoursRule, weekday: number): Minutes[] {
  if (windows.length === 0) return [[0, dayMinutes]];
  const before = weekdays[(weekday + 6) % 7] as Weekday;
  const own = weekdays[weekday] as Weekday;
  const parts = windows.flatMap(({ weekdays: days, from, to }): Minutes[] => {
    const [start, end] = [minutesOfClock(from) ?? 0, minutesOfClock(to) ?? dayMinutes];
    const isOvernight = end <= start;
    return [
      ...(days.includes(own) ? [[start, isOvernight ? dayMinutes : end] as const] : []),
      ...(isOvernight && days.includes(before) ? [[0, end] as const] : []),
    ];
  });
  const merged = mergedMinutes(parts);
  return mode === 'RUN' ? merged : othersThan(merged);
}

function mergedMinutes(parts: readonly Minutes[]): Minutes[] {
  const merged: Minutes[] = [];
  for (const [from, to] of parts.toSorted(([one], [other]) => one - other)) {
    if (to <= from) continue;
    const last = merged.at(-1);
    if (last && last[1] >= from) merged[merged.length - 1] = [last[0], Math.max(last[1], to)];
    else merged.push([from, to]);
  }
  return merged;
}

function othersThan(parts: readonly Minutes[]): Minutes[] {
  const edges = [0, ...parts.flat(), dayMinutes];
  const others: Minutes[] = [];
  for (let at = 0; at < edges.length; at += 2) {
    const [from = 0, to = 0] = edges.slice(at, at + 2);
    if (from < to) others.push([from, to]);
  }
  return others;
}

function spansOf(hours: Compiled, day: number): readonly HoursSpan[] {
  const known = hours.days.get(day);
  if (known) return known;
  const spans = hours.holidays.some(([first, last]) => day >= first && day <= last)
    ? []
    : // The epoch was a Thursday.
      (hours.week[(((day + 3) % 7) + 7) % 7] ?? []).flatMap(([from, to]) => {
        const span = {
          from: instantOf(day, from, hours.timeZone),
          to: instantOf(day, to, hours.timeZone),
        };
        return span.from < span.to ? [span] : [];
      });
  if (hours.days.size >= maxDays) hours.days.clear();
  hours.days.set(day, spans);
  return spans;
}

/** Local date at an instant, in days since the epoch. */
function localDay(epochMs: number, timeZone: string): number {
  const { year, month, day } = Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(timeZone);
  return Date.UTC(year, month - 1, day) / dayMs;
}

/** The instant of a minute of a local day. It never decreases with the minute, nor with the day. */
function instantOf(day: number, minute: number, timeZone: string): number {
  const date = new Date((day + (minute === dayMinutes ? 1 : 0)) * dayMs);
  const [hours, minutes] = minute === dayMinutes ? [0, 0] : [Math.floor(minute / 60), minute % 60];
  const local = new Temporal.PlainDateTime(
    date.getUTCFullYear(),
    date.getUTCMonth() + 1,
    date.getUTCDate(),
    hours,
    minutes,
  );
  const zoned = local.toZonedDateTime(timeZone, { disambiguation: 'earlier' });
  if (zoned.toPlainDateTime().equals(local)) return zoned.epochMilliseconds;
  return zoned.getTimeZoneTransition('next')?.epochMilliseconds ?? zoned.epochMilliseconds;
}
