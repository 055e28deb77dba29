import { z } from 'zod';
import { TimeZone } from '../http/time-zone.ts';

const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, such as 22:00');

/** A part of every day in which a channel is not notified. */
export const QuietHours = z
  .object({
    from: clockTime.describe('When they begin, by the clocks of the zone, such as 22:00'),
    until: clockTime.describe('When they end, such as 07:00; earlier than "from": on the next day'),
    timezone: TimeZone.default('UTC').describe('The time zone of the two, such as Europe/Berlin'),
    exceptFailures: z
      .boolean()
      .default(false)
      .describe('Whether failures of checks and locations, and their recoveries, are sent anyway'),
  })
  .refine(({ from, until }) => from !== until, { path: ['until'], message: 'must differ from "from"' });
export type QuietHours = z.output<typeof QuietHours>;
