import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineRoutes } from '../http/route.ts';

const text = z.string().max(500).optional();

export const scheduleRoutes = defineRoutes('Checks', 'account', {
  listScheduleTimes: {
    method: 'GET',
    path: '/v1/schedule-times',
    summary: 'The next times of a cron expression, or of a calendar event of systemd, in a zone',
    query: lazySchema(() =>
      z.object({
        cron: text.describe('Cron expression; either it or onCalendar'),
        onCalendar: text.describe('`OnCalendar` of a timer of systemd'),
        timeZone: z
          .string()
          .max(64)
          .optional()
          .describe('Time zone; default: that at the end of onCalendar, or UTC'),
        limit: z.coerce.number().int().min(1).max(100).default(10),
      }),
    ),
    response: lazySchema(() => z.object({ timeZone: z.string(), times: z.array(z.iso.datetime()) })),
  },
});
