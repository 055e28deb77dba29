import { z } from 'zod';
import { checkTypeNames } from '../../checks/index.ts';
import { QueryBoolean, Timestamp } from '../http/query.ts';
import { defineRoute, successful } from '../http/route.ts';

/** Windows that reports know by name; the spelling of the first one is theirs (check model 4.2). */
export const reportRanges = [
  'last24Hrs',
  'last7Days',
  'last30Days',
  'thisWeek',
  'thisMonth',
  'lastWeek',
  'lastMonth',
] as const;

const milliseconds = z.number().nullable().describe('Milliseconds; null when nothing was measured');

/** How often a check succeeded in a window, and how fast it was. */
export const Aggregate = z
  .object({
    successRatio: z
      .number()
      .nullable()
      .describe('Percent of the runs that did not fail; null when there were none'),
    avg: milliseconds,
    p95: milliseconds,
    p99: milliseconds,
  })
  .meta({ id: 'Aggregate' });
export type Aggregate = z.output<typeof Aggregate>;

export const CheckReport = z
  .object({
    name: z.string(),
    checkId: z.string(),
    checkType: z.enum(checkTypeNames),
    deactivated: z.boolean(),
    tags: z.array(z.string()),
    aggregate: Aggregate,
  })
  .meta({ id: 'CheckReport' });
export type CheckReport = z.output<typeof CheckReport>;

const tag = z.string().min(1).max(255);

export const reportingRoutes = {
  getReport: defineRoute({
    tag: 'Reporting',
    credential: 'account',
    rateLimit: { requests: 30, windowSeconds: 60 },
    method: 'GET',
    path: '/v1/reporting',
    operationId: 'getReport',
    summary: 'Success ratio and response times of every check of the account in a window, by name',
    query: z.object({
      from: Timestamp.optional(),
      to: Timestamp.optional(),
      quickRange: z.enum(reportRanges).default('last24Hrs').describe('Where from and to are left out'),
      filterByTags: z
        .union([tag, z.array(tag).max(100)])
        .optional()
        .describe('Checks with any of these tags'),
      deactivated: QueryBoolean.optional().describe('Only deactivated checks, or only activated ones'),
    }),
    success: successful,
    response: z.array(CheckReport),
  }),
};
