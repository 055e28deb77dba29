import { checkTypeNames } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { alsoIn, created, defineRoutes } from '../http/route.ts';

const DateTime = lazySchema(() => z.iso.datetime());
const maxIds = 1000;

/** Selection of checks to run (check model 4.8). */
export const SessionTargetFields = {
  matchTags: z
    .array(z.array(z.string().min(1)).max(100))
    .max(100)
    .optional()
    .describe('Checks with all tags of any of these lists; a tag prefixed with "!" must be absent'),
  checkId: z.union([z.uuid(), z.array(z.uuid()).min(1).max(maxIds)]).optional(),
};

export const checkSessionStatusNames = [
  'STARTED',
  'PROGRESS',
  'PROGRESS_FAILED',
  'PROGRESS_DEGRADED',
  'PASSED',
  'FAILED',
  'DEGRADED',
  'TIMED_OUT',
  'CANCELLED',
] as const;

export const CheckSessionTrigger = lazySchema(() =>
  z
    .object({
      target: z
        .object(SessionTargetFields)
        .nullish()
        .describe('Without conditions: all checks that can be run'),
      refreshCache: z.boolean().default(false).describe('Accepted; there is no cache to refresh'),
    })
    .meta({ id: 'CheckSessionTrigger' }),
);

const SessionFields = {
  checkSessionId: z.string(),
  checkSessionLink: z.string(),
  checkId: z.string(),
  checkType: z.enum(checkTypeNames),
  name: z.string(),
  status: z.enum(checkSessionStatusNames),
  startedAt: DateTime.schema,
  stoppedAt: DateTime.schema.nullable(),
  timeElapsed: z.number().describe('Milliseconds'),
  runLocations: z.array(z.string()),
  runSource: z.string(),
};

const CheckSession = lazySchema(() =>
  z
    .object({
      ...SessionFields,
      results: z.array(
        z.object({
          checkResultId: z
            .string()
            .nullable()
            .describe('null if the run was cancelled or no agent leased it'),
          checkResultLink: z.string().nullable(),
          sequenceId: z.string(),
          checkId: z.string(),
          checkType: z.enum(checkTypeNames),
          name: z.string(),
          runLocation: z.string(),
          resultType: z.enum(['FINAL', 'ATTEMPT']),
          hasErrors: z.boolean(),
          hasFailures: z.boolean(),
          isDegraded: z.boolean().nullable(),
          aborted: z
            .boolean()
            .describe('No agent can run it, none picked it up in time, or its agents were lost'),
          message: z.string().nullable().describe('Reason of an aborted run, in words'),
          isCancelled: z.boolean(),
        }),
      ),
    })
    .meta({ id: 'CheckSession' }),
);
export type CheckSession = z.output<typeof CheckSession.schema>;

export const CancelSession = lazySchema(() =>
  z
    .object({
      sequenceId: z.array(z.uuid()).max(maxIds).optional().describe('Only the runs of these sequences'),
    })
    .nullish(),
);

export const CompletionQuery = lazySchema(() =>
  z.object({
    maxWaitSeconds: z.coerce.number().int().min(1).max(30).default(30),
  }),
);
const params = z.object({ id: z.uuid() });

const routes = defineRoutes('Check sessions', 'account', {
  triggerCheckSessions: {
    method: 'POST',
    path: '/v1/check-sessions/trigger',
    summary: 'Run checks now; their results count like scheduled ones',
    body: CheckSessionTrigger,
    isRun: true,
    otherErrors: [404, 409],
    success: created,
    response: lazySchema(() => z.object({ sessions: z.array(z.object(SessionFields)) })),
  },
  getCheckSession: {
    method: 'GET',
    path: '/v1/check-sessions/{id}',
    summary: 'Progress and results of a check session',
    params,
    response: CheckSession,
  },
  awaitCheckSession: {
    method: 'GET',
    path: '/v1/check-sessions/{id}/completion',
    summary: 'Wait until a check session has ended; 408 on timeout',
    params,
    query: CompletionQuery,
    otherErrors: [408],
    response: CheckSession,
  },
  cancelCheckSession: {
    method: 'POST',
    path: '/v1/check-sessions/{id}/cancel',
    summary: 'Cancel the unfinished runs of a check session',
    params,
    body: CancelSession,
    isBodyOptional: true,
    isRun: true,
  },
});

export const checkSessionRoutes = alsoIn(['v2'], routes);
