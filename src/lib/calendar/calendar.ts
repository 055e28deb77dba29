import { Cron } from 'croner';
import { LruMap } from '../lru.ts';
import { isTimeZone } from '../time-zone.ts';
import { CalendarSyntaxError, nextOnCalendar, type OnCalendar, parseOnCalendar } from './on-calendar.ts';

/** Times by a calendar: of a cron expression or of a calendar event of systemd. Exactly one of the two is set. */
export interface CalendarRule {
  /** Five fields as in crontab(5), or `@daily` and its like. */
  readonly cron: string | null;
  /** A calendar event as in systemd.time(7). */
  readonly onCalendar: string | null;
  /** Name in the time zone database; null: that of the calendar event, or UTC. */
  readonly timeZone: string | null;
}

/** Problem with a rule, at one of its fields. */
export interface CalendarProblem {
  readonly field: keyof CalendarRule;
  readonly message: string;
}

/** A rule whose times can be computed. */
interface Compiled {
  /** The next time after an instant, in epoch milliseconds; null without one. */
  next(afterMs: number): number | null;
  readonly timeZone: string;
}

const maxCompiled = 1_000;
const compiled = new LruMap<string, Compiled>(maxCompiled);

const noZone = 'must be the name of a time zone, such as Europe/Berlin or UTC';
/** The longest cron expression: lists of every minute and hour fit. */
const maxCronLength = 500;
const cronFields = /^[\w*,/?#+-]+(?:[ \t]+[\w*,/?#+-]+){4}$/;
const cronNames = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/i;

/**
 * Two times of a calendar are at least this far apart, in milliseconds: more often, an expectation of pings or a
 * schedule of checks would be of no use.
 */
const shortestMs = 30_000;
/** Later times count as none, so that rare ones (a leap day that is a Monday) are not searched for through millennia. */
const horizonMs = Date.UTC(2200, 0, 1);
/** Times that are compared: an hour of minutes, and the turn to the next. */
const comparedTimes = 62;

/**
 * Returns the problem with a rule, or null if its times can be computed and it has one after an instant.
 *
 * @param leastMs two times must be at least this far apart, in milliseconds.
 */
export function calendarProblem(
  rule: CalendarRule,
  now: number,
  leastMs = shortestMs,
): CalendarProblem | null {
  const field = rule.cron === null ? 'onCalendar' : 'cron';
  if ((rule.cron === null) === (rule.onCalendar === null)) {
    return { field: 'cron', message: 'give either "cron" or "onCalendar"' };
  }
  if (rule.timeZone !== null && !isTimeZone(rule.timeZone)) return { field: 'timeZone', message: noZone };
  try {
    const times = nextTimes(rule, now, comparedTimes);
    if (times.length === 0) return { field, message: 'has no time from now on' };
    const tooOften = times.some((at, index) => at - (times[index - 1] ?? 0) < leastMs);
    return tooOften ? { field, message: `has times less than ${leastMs / 1_000} seconds apart` } : null;
  } catch (thrown) {
    if (thrown instanceof CalendarSyntaxError) return { field, message: thrown.message };
    throw thrown;
  }
}

/**
 * The next time of a rule after an instant, in epoch milliseconds; null without one. Around daylight saving, each
 * kind follows its program. Cron (Vixie): a fixed time that clocks skip comes right after the gap, and one that comes
 * twice counts once; times with a wildcard or a step follow the real time. Systemd: a skipped time does not come, and
 * of a time that comes twice the first counts.
 *
 * @throws CalendarSyntaxError if it is not a calendar
 */
export function nextTime(rule: CalendarRule, afterMs: number): number | null {
  return compile(rule).next(afterMs);
}

/** Up to `count` times of a rule after an instant, in order. @throws CalendarSyntaxError */
export function nextTimes(rule: CalendarRule, afterMs: number, count: number): number[] {
  const { next } = compile(rule);
  const times: number[] = [];
  for (let at = next(afterMs); at !== null && at < horizonMs; at = next(at)) {
    times.push(at);
    if (times.length === count) break;
  }
  return times;
}

/** The zone in which the times of a rule are. @throws CalendarSyntaxError */
export function zoneOf(rule: CalendarRule): string {
  return compile(rule).timeZone;
}

function compile(rule: CalendarRule): Compiled {
  const { cron, onCalendar, timeZone } = rule;
  return compiled.getOrMake(JSON.stringify([cron, onCalendar, timeZone]), () => {
    if (timeZone !== null && !isTimeZone(timeZone)) throw new CalendarSyntaxError(noZone);
    return cron === null ? fromOnCalendar(onCalendar ?? '', timeZone) : fromCron(cron, timeZone ?? 'UTC');
  });
}

function fromOnCalendar(text: string, timeZone: string | null): Compiled {
  const event: OnCalendar = parseOnCalendar(text);
  if (event.timeZone !== null && timeZone !== null && event.timeZone !== timeZone) {
    throw new CalendarSyntaxError(`names the zone ${event.timeZone}, and "timeZone" is ${timeZone}`);
  }
  const zone = event.timeZone ?? timeZone ?? 'UTC';
  return { timeZone: zone, next: (afterMs) => nextOnCalendar(event, afterMs, zone) };
}

function fromCron(text: string, timeZone: string): Compiled {
  const pattern = text.trim();
  if (pattern.length > maxCronLength) {
    throw new CalendarSyntaxError(`is longer than ${maxCronLength} characters`);
  }
  if (!cronNames.test(pattern) && !cronFields.test(pattern)) {
    throw new CalendarSyntaxError(
      'must have the five fields of a crontab (minute, hour, day of month, month, day of week), or be @hourly, @daily, @weekly, @monthly or @yearly',
    );
  }
  const [, , days = '', , weekdays = ''] = pattern.split(/[ \t]+/);
  // As in crontab(5): either of the days is enough, unless one of the fields begins with an asterisk.
  const domAndDow = /^[*?]/.test(days) || /^[*?]/.test(weekdays);
  const cron = cronOf(pattern, timeZone, domAndDow);
  return { timeZone, next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null };
}

function cronOf(pattern: string, timezone: string, domAndDow: boolean): Cron {
  const isName = pattern.startsWith('@');
  try {
    return new Cron(isName ? pattern.toLowerCase() : pattern, {
      ...{ timezone, domAndDow, paused: true, fixedTimeRule: 'no-wildcard' },
      ...(isName ? {} : { mode: '5-part' }),
    });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.replace(/^Cron\w*: /, '') : '';
    throw new CalendarSyntaxError(`is no cron expression: ${reason}`);
  }
}
