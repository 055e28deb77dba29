import { type CalendarRule, nextTimes, zoneOf } from '@picket/lib/calendar/calendar.ts';
import { type HoursRule, hoursWithin } from '@picket/lib/calendar/hours.ts';
import { CalendarSyntaxError } from '@picket/lib/calendar/on-calendar.ts';
import { type Content, type Html, html } from '../html.ts';
import { bothTimes } from './zoned-time.ts';

const timesShown = 10;
const timesSearched = 500;

/**
 * The next ten times of a schedule, in its zone and the reader's.
 *
 * @param hours only times in them count; null: all.
 * @throws CalendarSyntaxError if it is not a schedule
 */
export function nextTimeList(schedule: CalendarRule, now: number, hours: HoursRule | null = null): Html {
  const zone = zoneOf(schedule);
  const times = nextTimes(schedule, now, hours ? timesSearched : timesShown)
    .filter((at) => hours === null || hoursWithin(hours, { from: at, to: at + 1 }).length > 0)
    .slice(0, timesShown);
  return times.length === 0
    ? html`<p>It has no time from now on.</p>`
    : html`<ol class="occurrences">${times.map((at) => html`<li>${bothTimes(at, zone)}</li>`)}</ol>`;
}

/** Names a schedule as its user wrote it. */
export function scheduleWords(schedule: CalendarRule): Html {
  const text = schedule.cron ?? schedule.onCalendar ?? '';
  return html`at the times of <code>${text}</code>${schedule.timeZone === null ? '' : ` in ${schedule.timeZone}`}`;
}

/** The next times of a stored schedule, folded. */
export function upcoming(schedule: CalendarRule, now: number, hours: HoursRule | null = null): Content {
  try {
    return html`<details><summary>The next ten times</summary>${nextTimeList(schedule, now, hours)}</details>`;
  } catch (thrown) {
    // It was valid when it was stored: its zone is no longer known here.
    if (thrown instanceof CalendarSyntaxError)
      return html`<p class="notice">The schedule ${thrown.message}.</p>`;
    throw thrown;
  }
}
