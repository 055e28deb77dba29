import { isTimeZone } from '@picket/lib/time-zone.ts';
import { z } from 'zod';

/** A time zone by its name in the time zone database. */
export const TimeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin or UTC');
