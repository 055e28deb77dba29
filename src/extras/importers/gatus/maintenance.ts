import type { Collection } from '../collection.ts';
import { secondsOf } from '../go-formats.ts';
import type { Source } from '../source.ts';

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
/** A Monday, the base of weekly windows. */
const firstDay = '2024-01-01';

/** Adds a daily period without alerts: one window for every day, or one for each weekday. */
export function addMaintenance(collection: Collection, source: Source): void {
  const isEnabled = source.flag('enabled') ?? true;
  const start = source.text('start') ?? '';
  const seconds = secondsOf(source.text('duration') ?? '');
  const timezone = source.text('timezone') ?? 'UTC';
  const days = source.list('every').map(String);
  const [, hours = '', minutes = ''] = /^(\d{1,2}):(\d{2})$/.exec(start) ?? [];
  if (!isEnabled || seconds === undefined || minutes === '') {
    source.lose('', isEnabled ? 'it has no start and duration' : 'it is disabled');
    return;
  }
  const indexes = days.length === 0 ? [0] : days.map((day) => weekdays.indexOf(day));
  for (const [position, index] of indexes.entries()) {
    if (index < 0) {
      source.note(`every.${position}`, 'it is not a weekday');
      continue;
    }
    const name = days.length === 0 ? 'Maintenance' : `Maintenance on ${weekdays[index]}`;
    const startMs = localToUtc(index, Number(hours), Number(minutes), timezone);
    if (startMs === undefined) {
      source.note('timezone', 'it is an unknown time zone');
      return;
    }
    collection.add('maintenance-windows', name, {
      name,
      startsAt: new Date(startMs).toISOString(),
      endsAt: new Date(startMs + seconds * 1000).toISOString(),
      timezone,
      repeatInterval: 1,
      repeatUnit: days.length === 0 ? 'DAY' : 'WEEK',
      silenceAllAlerts: true,
    });
  }
}

/** Converts a local time in the first week of 2024, when no zone changes its clocks. */
function localToUtc(dayIndex: number, hours: number, minutes: number, timezone: string): number | undefined {
  const wanted = Date.parse(`${firstDay}T00:00:00Z`) + ((dayIndex * 24 + hours) * 60 + minutes) * 60_000;
  try {
    const parts = new Intl.DateTimeFormat('sv-SE', {
      timeZone: timezone,
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    const shown = Date.parse(`${parts.format(wanted).replace(' ', 'T')}Z`);
    return wanted - (shown - wanted);
  } catch {
    return undefined;
  }
}
