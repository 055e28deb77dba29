import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Timestamp } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

/** The queue of a private location, minute by minute: parallel arrays (spec.md "Private location metrics"). */
export const PrivateLocationMetrics = lazySchema(() =>
  z
    .object({
      timestamps: z.array(z.iso.datetime()),
      queueSize: z.array(z.number()).describe('Runs that waited for an agent'),
      oldestScheduledCheckRun: z
        .array(z.number())
        .describe('Longest waiting time of a run, in seconds; 0 if none waited'),
    })
    .meta({ id: 'PrivateLocationMetrics' }),
);

export const locationMetricsRoutes = defineRoutes('Private locations', 'account', {
  getPrivateLocationMetrics: {
    method: 'GET',
    path: '/v1/private-locations/{id}/metrics',
    summary: 'The queue of a private location, minute by minute',
    params: z.object({ id: z.uuid() }),
    query: lazySchema(() =>
      z.object({
        from: Timestamp.describe('Less than 15 days ago; Unix timestamp or ISO 8601'),
        to: Timestamp,
      }),
    ),
    rateLimit: { requests: 300, windowSeconds: 86_400 },
    response: PrivateLocationMetrics,
  },
});
