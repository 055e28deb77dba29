import { z } from 'zod';

/** Names as the time zone database has them: no offsets, which know nothing of daylight saving. */
const zoneName = /^[A-Za-z][\w+-]*(\/[\w+-]+)*$/;

/** Whether a text names a time zone that this build knows: `Europe/Berlin`, `UTC`. */
export function isTimeZone(name: string): boolean {
  if (!zoneName.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    // It says nothing but that the name is not known.
    return false;
  }
}

/** A time zone by its name in the time zone database. */
export const TimeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin or UTC');
