import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { TimeZone } from '../http/time-zone.ts';

const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, such as 22:00');

/** A part of every day in which a channel is not notified. */
export const QuietHours = lazySchema(() =>
  z
    .object({
      from: clockTime.describe('Start in local time of the zone, such as 22:00'),
      until: clockTime.describe('End, such as 07:00; on the next day if earlier than "from"'),
      timezone: TimeZone.default('UTC').describe('Time zone, such as Europe/Berlin'),
      exceptFailures: z
        .boolean()
        .default(false)
        .describe('Whether failures of checks and locations, and their recoveries, are sent anyway'),
    })
    .refine(({ from, until }) => from !== until, { path: ['until'], message: 'must differ from "from"' }),
);
export type QuietHours = z.output<typeof QuietHours.schema>;
