import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { QueryBoolean } from '../http/query.ts';
import { defineRoutes, successful } from '../http/route.ts';
import { Warning } from '../http/warning.ts';
import { Coverage } from '../runs/coverage.ts';
import { CheckState } from './check-state.ts';

/** The current state of a check (spec.md "Check status"). */
export const CheckStatus = lazySchema(() =>
  z
    .object({
      name: z.string(),
      checkId: z.string(),
      hasFailures: z.boolean(),
      hasErrors: z.boolean(),
      isDegraded: z.boolean(),
      state: CheckState.schema,
      notMeasuredAt: z
        .array(z.string())
        .describe(
          'For a check that runs in parallel: locations without a current measurement; the others determine its state',
        ),
      longestRun: z.number().nullable(),
      shortestRun: z.number().nullable(),
      lastRunLocation: z.string().nullable(),
      lastCheckRunId: z.string().nullable(),
      sslDaysRemaining: z
        .int()
        .nullable()
        .describe('Whole days until the certificate expires, negative once it has; null without TLS'),
      warnings: z.array(Warning).describe('Why the check cannot run at present; empty if it can'),
      coverage: Coverage.schema.describe(
        'Coverage of the last 24 hours: share of due slots that were measured',
      ),
      created_at: z.iso.datetime(),
      updated_at: z.iso.datetime().nullable(),
    })
    .meta({ id: 'CheckStatus' }),
);
export type CheckStatus = z.output<typeof CheckStatus.schema>;

const statusRoute = {
  method: 'GET',
  success: successful,
} as const;

export const checkStatusRoutes = defineRoutes('Check statuses', 'account', {
  listCheckStatuses: {
    ...statusRoute,
    path: '/v1/check-statuses',
    summary: 'The state of every check that has run',
    query: lazySchema(() =>
      z.object({
        neverRun: QueryBoolean.default(false).describe(
          'Include checks that have not run yet, with the reason if they cannot',
        ),
      }),
    ),
    response: lazySchema(() => z.array(CheckStatus.schema)),
  },
  getCheckStatus: {
    ...statusRoute,
    path: '/v1/check-statuses/{checkId}',
    summary: 'The state of one check; null if it has not run yet and can run',
    params: z.object({ checkId: z.uuid() }),
    response: lazySchema(() => CheckStatus.schema.nullable()),
  },
});
