import { FailureDetails } from '@picket/checks/contract/failure-details.ts';
import { checkTypeNames, checkTypes, findCheckType } from '@picket/checks/index.ts';
import type { DetailKey, DetailSummary } from '@picket/checks/summary/detail-summary.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { CursorPaging, cursorPage } from '../http/cursor.ts';
import { Paging, QueryBoolean, Timestamp } from '../http/query.ts';
import { defineRoutes } from '../http/route.ts';

const DateTime = lazySchema(() => z.iso.datetime());

const typesByDetailKey = Map.groupBy(checkTypes, ({ detailKey }) => detailKey);

/**
 * Fields for details in a result, by the types of checks; null for other types, and for those that an older service
 * does not know.
 */
const detailFields = Object.fromEntries(
  [...typesByDetailKey.keys()].map((key) => [key, z.unknown().nullable().default(null)]),
);

/** The same fields in a result without a detail. */
export const noDetails: Readonly<Record<DetailKey, null>> = Object.fromEntries(
  [...typesByDetailKey.keys()].map((key) => [key, null]),
);

/** A check result as the API shows it (spec.md "Check result"; check model 3.4). */
export const CheckResult = lazySchema(() =>
  z
    .object({
      id: z.string(),
      // A service before 8.0 sends neither this nor `failure.details`.
      checkType: z.string().default('').describe('The type of the check'),
      resultType: z.enum(['FINAL', 'ATTEMPT']),
      name: z.string(),
      checkId: z.string(),
      hasFailures: z.boolean(),
      hasErrors: z.boolean(),
      isDegraded: z.boolean().nullable(),
      isCancelled: z.boolean(),
      overMaxResponseTime: z.boolean().nullable(),
      runLocation: z.string(),
      startedAt: DateTime.schema.nullable(),
      stoppedAt: DateTime.schema.nullable(),
      created_at: DateTime.schema,
      responseTime: z.number(),
      ...detailFields,
      checkRunId: z.number(),
      attempts: z.int(),
      sequenceId: z.string().nullable(),
      errorGroupIds: z.array(z.string()),
      scheduledAt: DateTime.schema.describe('When the run was due'),
      hostStartedAt: DateTime.schema
        .nullable()
        .describe(
          'The start by the clock of the agent’s host; `startedAt` is corrected to the service’s clock',
        ),
      startDelayMs: z.number().describe('From lease to start of the probe, on the agent'),
      agentLagMs: z.number().describe('Lag of the agent during the probe'),
      agentOverheadMs: z
        .number()
        .describe('Time that the agent spent between the phases; not part of the response time'),
      isTimingDoubtful: z
        .boolean()
        .describe('The agent lagged, so the times may be too long; they did not cause a failure'),
      isDetailLeftOut: z
        .boolean()
        .describe(
          'The run passed, and its details were not stored: with `DETAIL_OF_EVERY_NTH_PASS`, the service stores those of every nth pass',
        ),
      failure: z
        .object({
          owner: z.string(),
          code: z.string(),
          message: z.string(),
          whatFailed: z.string().describe('The failed part in words, as far as this run shows: `the target`'),
          sentence: z.string().describe('The reason in one line, as on pages, in messages and in commands'),
          details: FailureDetails.default({}).describe(
            'Details of the failure for programs; the fields depend on the code',
          ),
        })
        .nullable()
        .describe('Why the run did not pass, and which part failed'),
      artifacts: z
        .array(
          z.object({
            name: z.string(),
            contentType: z.string(),
            sizeBytes: z.int().nullable(),
            state: z
              .enum(['stored', 'awaited', 'refused', 'withheld', 'lost'])
              .describe('lost: the agent never sent it; other states as in ReportedArtifact'),
            reason: z
              .string()
              .nullable()
              .describe('Why it is missing; for an archive, which files were omitted, and why'),
          }),
        )
        .describe('Files of the run, and those that could not be stored'),
    })
    .meta({ id: 'CheckResult' }),
);
export type CheckResult = z.output<typeof CheckResult.schema> & Readonly<Record<DetailKey, unknown>>;

/** Returns the detail of a result; null without one. */
export function detailOf(result: CheckResult): unknown {
  const key = findCheckType(result.checkType)?.detailKey ?? 'apiCheckResult';
  return result[key] ?? null;
}

/**
 * Summarizes a detail for people; undefined without one, and for a detail of another build that does not fit this
 * build's schema.
 */
export function summaryOf(checkType: string, detail: unknown): DetailSummary | undefined {
  const type = findCheckType(checkType);
  const parsed = type?.detail.safeParse(detail);
  return parsed?.success ? type?.summary(parsed.data) : undefined;
}

/** Does the same for a result. */
export function summaryOfResult(result: CheckResult): DetailSummary | undefined {
  return summaryOf(result.checkType, detailOf(result));
}

/** A check result with the details of the types of this build. */
export const DocumentedCheckResult = lazySchema(() =>
  z
    .object({
      ...CheckResult.shape,
      ...Object.fromEntries(
        [...typesByDetailKey].map(([key, types]) => {
          const details = [...new Set(types.map((type) => type.detail))];
          const titles = types.map((type) => type.title).join(', ');
          return [key, z.union(details).nullable().describe(`Details of: ${titles}. null for other types`)];
        }),
      ),
    })
    .meta({ id: 'CheckResult' }),
);

export const CheckResultQuery = lazySchema(() =>
  z.object({
    ...Paging,
    from: Timestamp.optional().describe(
      'Results at or after it; default: 6 hours before `to`, or before now',
    ),
    to: Timestamp.optional().describe('Results before it; default: 6 hours after `from`'),
    location: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe('A region, or the slugName of a private location'),
    checkType: z.enum(checkTypeNames).optional(),
    hasFailures: QueryBoolean.optional(),
    resultType: z.enum(['FINAL', 'ATTEMPT', 'ALL']).default('FINAL'),
  }),
);
export type CheckResultQuery = z.output<typeof CheckResultQuery.schema>;

/** The same filters with a cursor in place of page numbers. */
const CheckResultCursorQuery = lazySchema(() =>
  CheckResultQuery.schema.omit({ page: true }).extend({ nextId: CursorPaging.nextId }),
);

/** A client that reads the results of all monitors of a team sends one request for each. */
const rateLimit = { requests: 100, windowSeconds: 10 };

export const checkResultRoutes = defineRoutes('Check results', 'account', {
  listCheckResults: {
    method: 'GET',
    path: '/v1/check-results/{checkId}',
    summary: 'Results of a check, newest first',
    rateLimit,
    params: z.object({ checkId: z.uuid() }),
    query: CheckResultQuery,
    response: lazySchema(() => z.array(CheckResult.schema)),
    documentedResponse: lazySchema(() => z.array(DocumentedCheckResult.schema)),
  },
  listCheckResultsByCursor: {
    method: 'GET',
    path: '/v2/check-results/{checkId}',
    summary: 'Results of a check, newest first, by cursor: new results do not shift pages',
    rateLimit,
    params: z.object({ checkId: z.uuid() }),
    query: CheckResultCursorQuery,
    response: lazySchema(() => cursorPage(CheckResult.schema)),
    documentedResponse: lazySchema(() => cursorPage(DocumentedCheckResult.schema)),
  },
  getCheckResult: {
    method: 'GET',
    path: '/v1/check-results/{checkId}/{checkResultId}',
    summary: 'One result of a check',
    params: z.object({ checkId: z.uuid(), checkResultId: z.uuid() }),
    response: CheckResult,
    documentedResponse: DocumentedCheckResult,
  },
});
