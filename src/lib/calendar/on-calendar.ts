import { Temporal } from 'temporal-polyfill';
import { dictionary } from '../names/dictionary.ts';
import { isTimeZone } from '../time-zone.ts';

/**
 * Calendar events of systemd's timers (systemd.time(7), "Calendar events"): `Mon..Fri *-*-* 09..17:00/15`. The same
 * texts are accepted, except fractions of seconds and `@` with a number of seconds, and they mean the same.
 */

/** A list of numbers of one field, in ascending order; null: all. */
type Numbers = readonly number[] | null;

/** One element of a list, as written: a value, a range, or a value that repeats. */
interface Element {
  readonly from: number;
  readonly to: number | null;
  readonly step: number | null;
}

export interface OnCalendar {
  /** 1 is Monday, 7 Sunday, as in ISO 8601. */
  readonly weekdays: Numbers;
  readonly years: readonly Element[] | null;
  readonly months: Numbers;
  readonly days: readonly Element[] | null;
  /** Whether days count from the end of the month. */
  readonly isFromEnd: boolean;
  readonly hours: Numbers;
  readonly minutes: Numbers;
  readonly seconds: Numbers;
  /** Zone at the end of the text; null: none was named. */
  readonly timeZone: string | null;
}

/** A text that is no calendar event; its message says which part. */
export class CalendarSyntaxError extends Error {}

const midnight = '00:00:00';
const shorthands = dictionary<string>({
  minutely: '*-*-* *:*:00',
  hourly: '*-*-* *:00:00',
  daily: `*-*-* ${midnight}`,
  weekly: `Mon *-*-* ${midnight}`,
  monthly: `*-*-01 ${midnight}`,
  quarterly: `*-01,04,07,10-01 ${midnight}`,
  ...Object.fromEntries(
    ['semiannually', 'semi-annually', 'biannually', 'bi-annually'].map((name) => [
      name,
      `*-01,07-01 ${midnight}`,
    ]),
  ),
  ...Object.fromEntries(['yearly', 'annually', 'anually'].map((name) => [name, `*-01-01 ${midnight}`])),
});

const weekdayNames = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const lastYear = 2199;
/** Longest text; a list of every minute of an hour fits. */
const maxLength = 500;

/** @throws CalendarSyntaxError */
export function parseOnCalendar(text: string): OnCalendar {
  if (text.length > maxLength) throw new CalendarSyntaxError(`is longer than ${maxLength} characters`);
  const words = text.split(' ').filter((word) => word !== '');
  if (words.length === 0) throw new CalendarSyntaxError('is empty');
  const timeZone = words.length > 1 && isTimeZone(words.at(-1) ?? '') ? (words.pop() ?? null) : null;
  const shorthand = words.length === 1 ? shorthands[(words[0] ?? '').toLowerCase()] : undefined;
  const parts = shorthand === undefined ? words : shorthand.split(' ');
  const weekdays = isWeekdays(parts[0] ?? '') ? weekdaysIn(parts.shift() ?? '') : null;
  const date = parts[0] !== undefined && !parts[0].includes(':') ? dateIn(parts.shift() ?? '') : everyDay;
  const time = timeIn(parts.shift() ?? midnight);
  if (parts.length > 0) throw new CalendarSyntaxError(`has "${parts[0]}" after the time`);
  return { weekdays, ...date, ...time, timeZone };
}

const everyDay = { years: null, months: null, days: null, isFromEnd: false } as const;

/** Whether a word is meant to be weekdays: only they begin with a letter. */
function isWeekdays(word: string): boolean {
  return /^[a-z]/i.test(word);
}

function weekdaysIn(text: string): readonly number[] {
  const days = new Set<number>();
  for (const part of text.split(',')) {
    if (part === '') continue;
    const [from = '', to = from, ...more] = part.split(/\.\.|-/);
    const [first, last] = [weekdayOf(from), weekdayOf(to)];
    if (more.length > 0 || first > last) {
      throw new CalendarSyntaxError(
        `has the weekdays "${part}": write a range from the earlier to the later, Monday is first`,
      );
    }
    for (let day = first; day <= last; day += 1) days.add(day);
  }
  return [...days].sort((one, other) => one - other);
}

function weekdayOf(name: string): number {
  const lower = name.toLowerCase();
  const at = weekdayNames.findIndex((day) => lower === day || lower === day.slice(0, 3));
  if (at < 0) throw new CalendarSyntaxError(`has "${name}", which is no weekday, date, time or zone`);
  return at + 1;
}

function dateIn(text: string): Pick<OnCalendar, 'years' | 'months' | 'days' | 'isFromEnd'> {
  const [, yearText, monthText = '', mark, dayText = ''] =
    /^(?:([^-~]+)-)?([^-~]+)([-~])([^-~]+)$/.exec(text) ?? [];
  if (mark === undefined) {
    throw new CalendarSyntaxError(`has the date "${text}": write year-month-day, with * for every`);
  }
  const years = elementsIn('year', yearText ?? '*', { min: 0, max: lastYear });
  return {
    years:
      years?.map(({ from, to, step }) => ({
        from: wholeYear(from),
        to: to === null ? null : wholeYear(to),
        step,
      })) ?? null,
    months: numbersIn('month', monthText, { min: 1, max: 12 }),
    days: elementsIn('day', dayText, { min: 1, max: 31 }),
    isFromEnd: mark === '~',
  };
}

/** Years of two digits are from 1970 to 2069. */
function wholeYear(year: number): number {
  if (year >= 100) return year;
  return year < 70 ? 2000 + year : 1900 + year;
}

function timeIn(text: string): Pick<OnCalendar, 'hours' | 'minutes' | 'seconds'> {
  const [hours, minutes, seconds = '00', ...more] = text.split(':');
  if (hours === undefined || minutes === undefined || more.length > 0) {
    throw new CalendarSyntaxError(`has the time "${text}": write hours:minutes or hours:minutes:seconds`);
  }
  return {
    hours: numbersIn('hour', hours, { min: 0, max: 23 }),
    minutes: numbersIn('minute', minutes, { min: 0, max: 59 }),
    seconds: numbersIn('second', seconds, { min: 0, max: 59 }),
  };
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

function numbersIn(name: string, text: string, bounds: Bounds): Numbers {
  const elements = elementsIn(name, text, bounds);
  return elements && numbersOf(elements, bounds.max);
}

/** All numbers of a list, in ascending order. */
function numbersOf(elements: readonly Element[], max: number): number[] {
  const numbers = new Set<number>();
  for (const { from, to, step } of elements) {
    const last = to ?? (step === null ? from : max);
    for (let number = from; number <= last; number += step ?? 1) numbers.add(number);
  }
  return [...numbers].sort((one, other) => one - other);
}

function elementsIn(name: string, text: string, { min, max }: Bounds): readonly Element[] | null {
  if (text === '*') return null;
  return text.split(',').map((part) => {
    const [, first = '', last, stepText] = /^(\d{1,4})(?:\.\.(\d{1,4}))?(?:\/(\d{1,4}))?$/.exec(part) ?? [];
    if (first === '') throw new CalendarSyntaxError(`has the ${name} "${part}"`);
    const [from, to] = [Number(first), last === undefined ? null : Number(last)];
    const step = stepText === undefined ? null : Number(stepText);
    if (from < min || Math.max(from, to ?? from) > max) {
      throw new CalendarSyntaxError(`has the ${name} "${part}", which is not from ${min} to ${max}`);
    }
    if (to !== null && to < from)
      throw new CalendarSyntaxError(`has the ${name} "${part}", which ends before it begins`);
    if (step === 0) throw new CalendarSyntaxError(`has the ${name} "${part}", with a step of 0`);
    return { from, to, step };
  });
}

const dayMs = 86_400_000;

/**
 * First time of an event after an instant, in epoch milliseconds; null without one up to the year 2199. As in
 * systemd, a time that clocks skip does not occur, and of a time that comes twice only the first counts.
 */
export function nextOnCalendar(event: OnCalendar, afterMs: number, timeZone: string): number | null {
  const start = Temporal.Instant.fromEpochMilliseconds(afterMs).toZonedDateTimeISO(timeZone);
  const begun = { hour: start.hour, minute: start.minute };
  // A day as if it were in UTC: dates alone need no zone.
  let day = Date.UTC(start.year, start.month - 1, start.day);
  const firstDay = day;
  const endDay = Date.UTC(lastYear + 1, 0, 1);
  while (day < endDay) {
    const date = new Date(day);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1];
    if (!isYear(event, year)) day = Date.UTC(year + 1, 0, 1);
    else if (event.months && !event.months.includes(month)) day = Date.UTC(year, month, 1);
    else {
      if (isDay(event, date)) {
        const found = firstTimeOn(event, date, {
          afterMs,
          timeZone,
          begun: day === firstDay ? begun : undefined,
        });
        if (found !== null) return found;
      }
      day += dayMs;
    }
  }
  return null;
}

function isYear({ years }: OnCalendar, year: number): boolean {
  if (years === null) return true;
  return years.some(({ from, to, step }) => {
    const last = to ?? (step === null ? from : lastYear);
    return year >= from && year <= last && (year - from) % (step ?? 1) === 0;
  });
}

function isDay({ weekdays, days, isFromEnd }: OnCalendar, date: Date): boolean {
  if (weekdays && !weekdays.includes(date.getUTCDay() || 7)) return false;
  if (days === null) return true;
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  const number = date.getUTCDate();
  return days.some(({ from, to, step }) => {
    // `~3` is the third last day, and `~3..1` does not exist: `~1..3` are the last three, from the earliest on.
    const [first, last] = isFromEnd
      ? [length + 1 - (to ?? from), to === null ? null : length + 1 - from]
      : [from, to];
    const end = last ?? (step === null ? first : 31);
    return number >= first && number <= end && (number - first) % (step ?? 1) === 0;
  });
}

/** First time on a day after an instant; null without one. */
function firstTimeOn(
  { hours, minutes, seconds }: OnCalendar,
  date: Date,
  from: {
    readonly afterMs: number;
    readonly timeZone: string;
    readonly begun: { readonly hour: number; readonly minute: number } | undefined;
  },
): number | null {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
  const { afterMs, timeZone, begun } = from;
  for (const hour of hours ?? hoursOfDay) {
    if (begun && hour < begun.hour) continue;
    for (const minute of minutes ?? minutesOfHour) {
      if (begun && hour === begun.hour && minute < begun.minute) continue;
      for (const second of seconds ?? minutesOfHour) {
        const local = new Temporal.PlainDateTime(year, month, day, hour, minute, second);
        const zoned = local.toZonedDateTime(timeZone, { disambiguation: 'compatible' });
        // A time in a gap moves.
        if (!zoned.toPlainDateTime().equals(local)) continue;
        if (zoned.epochMilliseconds > afterMs) return zoned.epochMilliseconds;
      }
    }
  }
  return null;
}

const hoursOfDay = Array.from({ length: 24 }, (_none, hour) => hour);
const minutesOfHour = Array.from({ length: 60 }, (_none, minute) => minute);
