import { checkTypeNames } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CheckState } from '../checks/check-state.ts';
import { Paging, QueryBoolean } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

const name = z.string().min(1).max(255).optional();

const RankedCheck = lazySchema(() =>
  z
    .object({
      checkId: z.string(),
      name: z.string(),
      checkType: z.enum(checkTypeNames),
      availability: z
        .number()
        .nullable()
        .describe('Percent of the measured runs that did not fail; null without any'),
      p95: z
        .number()
        .nullable()
        .describe(
          '95th percentile of the response time in milliseconds; null without measurements, and for heartbeats',
        ),
    })
    .meta({ id: 'RankedCheck' }),
);
export type RankedCheck = z.output<typeof RankedCheck.schema>;

/** Checks in the order of a figure. */
export const checkRankingRoutes = defineRoutes('Analytics', 'account', {
  rankChecks: {
    method: 'GET',
    path: '/v1/analytics/checks/ranking',
    summary:
      'Checks of the account in the order of their availability or response time in the last 24 hours; those without a figure are last. 408 while the figures are being computed',
    rateLimit: { requests: 30, windowSeconds: 60 },
    query: lazySchema(() =>
      z.object({
        by: z.enum(['availability', 'p95']),
        order: z.enum(['asc', 'desc']).default('asc'),
        byGroup: QueryBoolean.default(false).describe(
          'One group after another, by name, and in each the order of the figure; checks without a group are last',
        ),
        search: z.string().max(255).optional().describe('Part of the name or the URL, case-insensitive'),
        state: CheckState.schema.optional(),
        checkType: z.enum(checkTypeNames).optional(),
        tag: name.describe('Only checks with this tag'),
        withoutTag: name.describe('Only checks without this tag'),
        groupId: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
        location: name.describe('Only checks that run at this location'),
        maxWaitSeconds: z.coerce.number().min(0).max(30).default(10),
        ...Paging,
      }),
    ),
    otherErrors: [408],
    response: lazySchema(() =>
      z.object({
        asOf: z.iso
          .datetime()
          .describe('End of the 24 hours: figures are computed anew on request, at most once a minute'),
        total: z.int().describe('Number of matching checks'),
        entries: z.array(RankedCheck.schema),
      }),
    ),
  },
});
