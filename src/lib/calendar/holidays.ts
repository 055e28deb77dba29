/** Days of an iCalendar file (RFC 5545), as calendars of holidays are published. */

/** A text that is no calendar of days; its message says why. */
export class HolidayError extends Error {}

const dayMs = 86_400_000;
/** Events that return each year are taken this many years ahead. */
const yearsAhead = 5;
const lastYear = 2199;

/** Whether a text is meant to be an iCalendar file. */
export function isICalendar(text: string): boolean {
  return /^\s*BEGIN:VCALENDAR\b/i.test(text);
}

/**
 * Days of the events of an iCalendar file that are not over, in order: `YYYY-MM-DD`, or first and last with a slash
 * between them. Of an event with times, the local days that it touches count. Cancelled events are left out.
 *
 * @throws HolidayError
 */
export function holidaysIn(text: string, now: number, mostDays: number): string[] {
  const found = new Map<string, number>();
  for (const event of eventsIn(text)) {
    for (const [first, last] of daysOf(event, now)) {
      if (last < now - dayMs) continue;
      found.set(first === last ? dateText(first) : `${dateText(first)}/${dateText(last)}`, first);
      if (found.size > mostDays) throw new HolidayError(`has more than ${mostDays} events that are not over`);
    }
  }
  if (found.size === 0) throw new HolidayError('has no event that is not over');
  return [...found].sort(([, one], [, other]) => one - other).map(([days]) => days);
}

type Event = ReadonlyMap<string, string>;

function eventsIn(text: string): Event[] {
  const events: Event[] = [];
  let event: Map<string, string> | undefined;
  // Inner parts, such as alarms, have dates of their own.
  let inner = 0;
  for (const line of text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)) {
    const [, name = '', value = ''] =
      /^([A-Za-z-]+)(?:;[^:"]*(?:"[^"]*"[^:"]*)*)?:(.*)$/.exec(line.trim()) ?? [];
    const key = name.toUpperCase();
    const part = value.trim().toUpperCase();
    if (key === 'BEGIN' && part === 'VEVENT') event = new Map();
    else if (key === 'END' && part === 'VEVENT') {
      if (event) events.push(event);
      event = undefined;
      inner = 0;
    } else if (key === 'BEGIN') inner += 1;
    else if (key === 'END') inner -= 1;
    else if (event && inner === 0) event.set(key, value.trim());
    if (key === 'BEGIN' && part === 'VEVENT') inner = 0;
  }
  return events;
}

/** First and last days of an event, and of its repetitions; epoch milliseconds in UTC, as dates have no zone. */
function daysOf(event: Event, now: number): (readonly [first: number, last: number])[] {
  if (event.get('STATUS')?.toUpperCase() === 'CANCELLED') return [];
  const start = dateIn('DTSTART', event.get('DTSTART'));
  if (start === undefined) throw new HolidayError('has an event without DTSTART');
  const days = lengthOf(event, start);
  const ends = (first: number) => [first, first + (days - 1) * dayMs] as const;
  const rule = event.get('RRULE');
  if (rule === undefined) return [ends(start.day)];
  const { interval, until, count } = yearlyRule(rule);
  const date = new Date(start.day);
  const last = Math.min(lastYear, new Date(now).getUTCFullYear() + yearsAhead);
  const repeated: (readonly [number, number])[] = [];
  for (let index = 0; index < count; index += 1) {
    const year = date.getUTCFullYear() + index * interval;
    if (year > last) break;
    const first = Date.UTC(year, date.getUTCMonth(), date.getUTCDate());
    // A leap day comes only in leap years.
    if (new Date(first).getUTCDate() !== date.getUTCDate()) continue;
    if (first > until) break;
    repeated.push(ends(first));
  }
  return repeated;
}

function lengthOf(event: Event, start: { readonly day: number }): number {
  const end = dateIn('DTEND', event.get('DTEND'));
  if (end) {
    // The end is exclusive: a date, or a time at midnight, is the day after the last.
    const last = end.isMidnight ? end.day - dayMs : end.day;
    return Math.max(1, Math.round((last - start.day) / dayMs) + 1);
  }
  const [, weeks, days] = /^P(?:(\d{1,2})W|(\d{1,3})D)/.exec(event.get('DURATION') ?? '') ?? [];
  return Math.max(1, Number(weeks ?? 0) * 7 + Number(days ?? 0));
}

function dateIn(
  name: string,
  text: string | undefined,
): { readonly day: number; readonly isMidnight: boolean } | undefined {
  if (text === undefined) return undefined;
  const [, year, month, day, time] = /^(\d{4})(\d\d)(\d\d)(?:T(\d{6})Z?)?$/.exec(text) ?? [];
  const at = Date.UTC(Number(year), Number(month) - 1, Number(day));
  if (day === undefined || new Date(at).getUTCDate() !== Number(day) || Number(year) > lastYear) {
    throw new HolidayError(`has the ${name} "${text.slice(0, 40)}", which is no date`);
  }
  return { day: at, isMidnight: time === undefined || time === '000000' };
}

/** The only rule whose days need no calendar of their own: the same day each year. */
function yearlyRule(text: string): { interval: number; until: number; count: number } {
  const parts = new Map(
    text
      .toUpperCase()
      .split(';')
      .map((part) => part.split('=') as [string, string]),
  );
  const others = [...parts.keys()].filter(
    (key) => !['FREQ', 'INTERVAL', 'UNTIL', 'COUNT', 'WKST', ''].includes(key),
  );
  const interval = Number(parts.get('INTERVAL') ?? 1);
  if (parts.get('FREQ') !== 'YEARLY' || others.length > 0 || !(interval >= 1)) {
    throw new HolidayError(
      `has the RRULE "${text.slice(0, 80)}": only events without one, or on the same day each year, can be read`,
    );
  }
  const until = dateIn('UNTIL', parts.get('UNTIL'))?.day ?? Number.POSITIVE_INFINITY;
  return { interval, until, count: Number(parts.get('COUNT') ?? Number.POSITIVE_INFINITY) };
}

function dateText(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
