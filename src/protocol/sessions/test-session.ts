import { EnvironmentVariable, RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { checkTypeNames } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Timestamp } from '../http/query.ts';
import { created, defineRoutes } from '../http/route.ts';
import { CheckResult, DocumentedCheckResult } from '../results/check-result.ts';
import { CancelSession, CompletionQuery, SessionTargetFields } from './check-session.ts';

const DateTime = lazySchema(() => z.iso.datetime());
const label = z.string().max(1000);

/** Origin of the tested code (check model 4.8). */
export const Metadata = lazySchema(() =>
  z.object({
    environment: label.nullish(),
    repoUrl: label.nullish(),
    commitId: label.nullish(),
    commitOwner: label.nullish(),
    commitMessage: z.string().max(10_000).nullish(),
    branchName: label.nullish(),
    provider: label.nullish().describe('Origin of the session, such as the name of a CI system'),
  }),
);

export const TestSessionTrigger = lazySchema(() =>
  z
    .object({
      name: z.string().min(1).max(255),
      projectId: z
        .string()
        .min(1)
        .max(255)
        .nullish()
        .describe('Any name of your own: errors of one project are grouped together'),
      runLocation: z.string().min(1).max(64).describe('The slugName of a private location, or a region'),
      target: z
        .object({ ...SessionTargetFields, allowDeactivated: z.boolean().default(false) })
        .nullish()
        .describe('Without conditions: all checks that can be run'),
      environmentVariables: z
        .array(EnvironmentVariable.schema)
        .max(50)
        .default([])
        .describe('They override variables of the same name of a check'),
      retryStrategy: RetryStrategy.schema
        .nullish()
        .describe('null: no retries; absent: the strategy of each check'),
      metadata: Metadata.schema.nullish(),
      refreshCache: z.boolean().default(false).describe('Accepted; there is no cache to refresh'),
    })
    .meta({ id: 'TestSessionTrigger' }),
);
export type TestSessionTrigger = z.output<typeof TestSessionTrigger.schema>;

/** Provider of sessions whose origin is unknown. */
export const unknownProvider = 'TRIGGER';

const testSessionStatusNames = ['RUNNING', 'PASSED', 'FAILED', 'CANCELLED'] as const;

const status = z.enum(testSessionStatusNames);
const ids = z.array(z.string());

const SessionFields = {
  id: z.string().describe('The same as testSessionId'),
  testSessionId: z.string(),
  accountId: z.string(),
  testSessionLink: z.string(),
  name: z.string(),
  projectId: z.string().nullable(),
  runLocation: z.string(),
  region: z.string().describe('The same as runLocation'),
  provider: z.string().describe('Origin; TRIGGER if unknown'),
  status,
  startedAt: DateTime.schema,
  stoppedAt: DateTime.schema.nullable(),
  created_at: DateTime.schema,
  timeElapsed: z.number().describe('Milliseconds'),
  metadata: z.record(z.string(), z.unknown()),
  repoUrl: z.string().nullable(),
  environment: z.string().nullable(),
  branchName: z.string().nullable(),
  commitId: z.string().nullable(),
  commitOwner: z.string().nullable(),
  commitMessage: z.string().nullable(),
  running: ids.describe('Sequences that have not ended'),
  passed: ids.describe('Sequences that passed, degraded ones too'),
  failed: ids.describe('Sequences that failed, or that no agent ran in time'),
  cancelled: ids.describe('Sequences that were cancelled'),
};

const TestSession = lazySchema(() =>
  z
    .object({
      ...SessionFields,
      errorGroupIds: z.array(z.string()),
      results: z.array(
        z.object({
          testSessionResultId: z.string(),
          testSessionResultLink: z.string().nullable().describe('null while there is no result'),
          sequenceId: z.string(),
          checkId: z.string(),
          checkType: z.enum(checkTypeNames),
          name: z.string(),
          runLocation: z.string(),
          resultType: z.enum(['FINAL', 'ATTEMPT', 'PENDING']),
          status,
          hasErrors: z.boolean(),
          hasFailures: z.boolean(),
          isDegraded: z.boolean().nullable(),
          aborted: z
            .boolean()
            .describe('No agent can run it, none picked it up in time, or its agents were lost'),
          message: z.string().nullable().describe('Reason of an aborted run, in words'),
          isCancelled: z.boolean(),
          errorGroupIds: z.array(z.string()),
        }),
      ),
    })
    .meta({ id: 'TestSession' }),
);
export type TestSession = z.output<typeof TestSession.schema>;

const many = <Item extends z.ZodType>(item: Item) =>
  z
    .union([item, z.array(item)])
    .transform((value) => [value].flat() as z.output<Item>[])
    .optional();

export const TestSessionQuery = lazySchema(() =>
  z.object({
    limit: z.coerce.number().int().min(1).max(100).default(20),
    nextId: z.uuid().optional().describe('The nextId of the page before'),
    from: Timestamp.optional(),
    to: Timestamp.optional(),
    statuses: many(z.enum(testSessionStatusNames)),
    branches: many(label),
    users: many(label).describe('Values of metadata.commitOwner'),
    providers: many(label),
    textSearch: z.string().min(3).max(200).optional().describe('Part of the name, in any case'),
    errorGroupId: z.uuid().optional(),
  }),
);
const params = z.object({ id: z.uuid() });

export const testSessionRoutes = defineRoutes('Test sessions', 'account', {
  triggerTestSession: {
    method: 'POST',
    path: '/v1/test-sessions/trigger',
    summary: 'Test checks; their results do not affect statuses, alerts or analytics',
    body: TestSessionTrigger,
    isRun: true,
    otherErrors: [404, 409],
    success: created,
    response: TestSession,
  },
  listTestSessions: {
    method: 'GET',
    path: '/v1/test-sessions',
    summary: 'Test sessions, newest first',
    query: TestSessionQuery,
    response: lazySchema(() =>
      z.object({
        length: z.int(),
        entries: z.array(z.object(SessionFields)),
        nextId: z.string().nullable().describe('null on the last page'),
      }),
    ),
  },
  getTestSession: {
    method: 'GET',
    path: '/v1/test-sessions/{id}',
    summary: 'Progress and results of a test session',
    params,
    response: TestSession,
  },
  awaitTestSession: {
    method: 'GET',
    path: '/v1/test-sessions/{id}/completion',
    summary: 'Wait until a test session has ended; 408 on timeout',
    params,
    query: CompletionQuery,
    otherErrors: [408],
    response: TestSession,
  },
  cancelTestSession: {
    method: 'POST',
    path: '/v1/test-sessions/{id}/cancel',
    summary: 'Cancel the unfinished runs of a test session',
    params,
    body: CancelSession,
    isBodyOptional: true,
    isRun: true,
  },
  getTestSessionResult: {
    method: 'GET',
    path: '/v1/test-sessions/{id}/results/{resultId}',
    summary: 'One result of a test session',
    params: z.object({ id: z.uuid(), resultId: z.uuid() }),
    response: CheckResult,
    documentedResponse: DocumentedCheckResult,
  },
});
