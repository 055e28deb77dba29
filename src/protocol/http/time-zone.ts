import { z } from 'zod';

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

/** A time zone by its name in the time zone database. */
export const TimeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin or UTC');
