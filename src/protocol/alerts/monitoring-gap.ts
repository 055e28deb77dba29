import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Paging } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

const MonitoringGap = lazySchema(() =>
  z
    .object({
      checkId: z.string(),
      location: z.string().describe('A region, or the slugName of a private location'),
      since: z.iso.datetime().describe('Due time of the first slot that was not measured'),
      slots: z.int().describe('Number of consecutive slots that were not measured'),
      reason: z
        .enum(['no-agent', 'over-capacity', 'expired', 'agent-lost', 'unsupported', 'error'])
        .describe(
          'Reason of the last of these slots; error: its run ended with an error of the agent or the location',
        ),
      explanation: z.string().describe('Reason in words, with a remedy'),
    })
    .meta({ id: 'MonitoringGap' }),
);

export const monitoringGapRoutes = defineRoutes('Alerts', 'account', {
  listMonitoringGaps: {
    method: 'GET',
    path: '/v1/monitoring-gaps',
    summary: 'Checks that are not measured at a location for at least as long as their alert settings allow',
    query: z.object(Paging),
    response: lazySchema(() => z.array(MonitoringGap.schema)),
  },
});
