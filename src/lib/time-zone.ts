import { Temporal } from 'temporal-polyfill';

/** Names of the time zone database: no offsets, which ignore daylight saving. */
const zoneName = /^[A-Za-z][\w+-]*(\/[\w+-]+)*$/;

/** Whether a text names a time zone that this build knows: `Europe/Berlin`, `UTC`. */
export function isTimeZone(name: string): boolean {
  if (!zoneName.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    // The error only says that the name is unknown.
    return false;
  }
}

/** Returns the local time of a zone at an instant in epoch milliseconds. */
export function localTime(epochMs: number, timeZone: string): Temporal.PlainDateTime {
  return Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(timeZone).toPlainDateTime();
}

/**
 * Returns the instant of a local time in a zone. A time that the clocks skip moves later by the length of the gap:
 * 02:30 becomes 03:30. Of a time that occurs twice, the first counts.
 */
export function instantOfLocal(local: Temporal.PlainDateTime, timeZone: string): number {
  return local.toZonedDateTime(timeZone, { disambiguation: 'compatible' }).epochMilliseconds;
}
