import { type CalendarRule, nextTimes, zoneOf } from '@picket/lib/calendar/calendar.ts';
import { type Html, html } from '../html.ts';
import { bothTimes } from './zoned-time.ts';

const timesShown = 10;

/**
 * The next ten times of a schedule, in its zone and the reader's.
 *
 * @throws CalendarSyntaxError if it is not a schedule
 */
export function nextTimeList(schedule: CalendarRule, now: number): Html {
  const zone = zoneOf(schedule);
  const times = nextTimes(schedule, now, timesShown);
  return times.length === 0
    ? html`<p>It has no time from now on.</p>`
    : html`<ol class="occurrences">${times.map((at) => html`<li>${bothTimes(at, zone)}</li>`)}</ol>`;
}
