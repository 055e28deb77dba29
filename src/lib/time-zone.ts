import { Temporal } from 'temporal-polyfill';

/** What the clocks of a zone show at an instant, in epoch milliseconds. */
export function localTime(epochMs: number, timeZone: string): Temporal.PlainDateTime {
  return Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(timeZone).toPlainDateTime();
}

/**
 * The instant at which the clocks of a zone show a time. One that they skip counts as later, by as much as
 * they skip: 02:30 becomes 03:30. Of one that they show twice the first counts.
 */
export function instantOfLocal(local: Temporal.PlainDateTime, timeZone: string): number {
  return local.toZonedDateTime(timeZone, { disambiguation: 'compatible' }).epochMilliseconds;
}
