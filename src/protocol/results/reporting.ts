import { checkTypeNames } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { QueryBoolean, Timestamp } from '../http/query.ts';
import { defineRoutes, successful } from '../http/route.ts';
import { TimeZone } from '../http/time-zone.ts';
import { Coverage } from '../runs/coverage.ts';

/** Named windows of reports; the first one has the original spelling (check model 4.2). */
export const reportRanges = [
  'last24Hrs',
  'last7Days',
  'last30Days',
  'thisWeek',
  'thisMonth',
  'lastWeek',
  'lastMonth',
] as const;

const milliseconds = z.number().nullable().describe('Milliseconds; null without measurements');

/** Success rate and response times of a check in a window. */
export const Aggregate = lazySchema(() =>
  z
    .object({
      successRatio: z
        .number()
        .nullable()
        .describe('Percent of the runs that did not fail; null without runs'),
      avg: milliseconds,
      p95: milliseconds,
      p99: milliseconds,
      coverage: Coverage.schema.describe(
        'Coverage of the window: share of due slots that the other figures are based on',
      ),
    })
    .meta({ id: 'Aggregate' }),
);
export type Aggregate = z.output<typeof Aggregate.schema>;

export const CheckReport = lazySchema(() =>
  z
    .object({
      name: z.string(),
      checkId: z.string(),
      checkType: z.enum(checkTypeNames),
      deactivated: z.boolean(),
      tags: z.array(z.string()),
      aggregate: Aggregate.schema,
    })
    .meta({ id: 'CheckReport' }),
);
export type CheckReport = z.output<typeof CheckReport.schema>;

const tag = z.string().min(1).max(255);

const query = z.object({
  from: Timestamp.optional(),
  to: Timestamp.optional(),
  quickRange: z.enum(reportRanges).default('last24Hrs').describe('Used if `from` and `to` are omitted'),
  timezone: TimeZone.default('UTC').describe('Time zone for the weeks and months of quickRange'),
  filterByTags: z
    .union([tag, z.array(tag).max(100)])
    .optional()
    .describe('Checks with any of these tags'),
  deactivated: QueryBoolean.optional().describe('Only deactivated checks, or only activated ones'),
});

const reportRoute = {
  rateLimit: { requests: 30, windowSeconds: 60 },
  method: 'GET',
  query,
  success: successful,
} as const;

export const reportingRoutes = defineRoutes('Reporting', 'account', {
  getReport: {
    ...reportRoute,
    path: '/v1/reporting',
    summary: 'Success ratio, coverage and response times of every check of the account in a window, by name',
    response: lazySchema(() => z.array(CheckReport.schema)),
  },
  getReportAsCsv: {
    ...reportRoute,
    path: '/v1/reporting.csv',
    summary: 'The same report as a table (RFC 4180), with a column for every reason a slot can be missed for',
    response: z.string(),
    responseContentType: 'text/csv; charset=utf-8',
  },
});
