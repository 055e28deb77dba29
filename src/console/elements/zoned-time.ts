import { isTimeZone } from '@picket/lib/time-zone.ts';
import { type Html, html } from '../html.ts';
import { instant } from './format.ts';

/** Formats a time in a zone, with the zone's name. */
export function inZone(epochMs: number, zone: string): string {
  const known = isTimeZone(zone) ? zone : 'UTC';
  const words = new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: known,
  }).format(epochMs);
  return `${words} ${known}`;
}

/** Shows a time in a zone of its own, and below it in the reader's. */
export function bothTimes(epochMs: number, zone: string): Html {
  return html`${inZone(epochMs, zone)}<br><span class="small soft">${instant(epochMs)}</span>`;
}
