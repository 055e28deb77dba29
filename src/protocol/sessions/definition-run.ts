import { EnvironmentVariable, RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { definitionSchema, pascalName } from '@picket/checks/contract/definition/definition.ts';
import { checkTypeNames, checkTypes } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { ignoredInAssertions } from '../checks/check.ts';
import { CheckGroupInput } from '../checks/check-group.ts';
import { accepted, defineRoutes } from '../http/route.ts';
import { CompletionQuery } from './check-session.ts';

const maxJobs = 500;
const maxFiles = 1_000;

/** A client's id for the runs it starts, so that it can follow them before they exist. */
export const SuiteId = lazySchema(() =>
  z
    .string()
    .regex(/^[0-9a-zA-Z-]{1,64}$/)
    .transform((id) => id.toLowerCase())
    .describe('An id of your own, preferably a UUID, under which results are published as they arrive'),
);

/** Where a client runs something. */
export const RunLocation = lazySchema(() =>
  z.discriminatedUnion('type', [
    z.object({
      type: z.literal('PRIVATE'),
      slugName: z.string().min(1).max(64).describe('slugName of a private location'),
      id: z.string().max(64).nullish().describe('Id of the same location; slugName takes precedence'),
    }),
    z.object({
      type: z.literal('PUBLIC'),
      region: z.string().min(1).max(64).describe('A private location whose slugName is that of a region'),
    }),
  ]),
);
export type RunLocation = z.output<typeof RunLocation.schema>;

const label1000 = z.string().max(1000).nullish();

/** The commit of the definitions that are run. */
export const RepoInfo = lazySchema(() =>
  z
    .looseObject({
      repoUrl: label1000,
      commitId: label1000,
      commitOwner: label1000,
      commitMessage: z.string().max(10_000).nullish(),
      branchName: label1000,
      provider: label1000,
    })
    .nullish(),
);

/** Fields of a definition to run, in addition to those of a check. */
const jobFields = () => ({
  logicalId: z
    .string()
    .min(1)
    .max(255)
    .describe('Any name of your own, which identifies the run in the response'),
  group: CheckGroupInput.schema
    .nullish()
    .describe('Group settings that replace those of the group in groupId'),
  testRetryStrategy: RetryStrategy.schema
    .nullish()
    .describe('Retry strategy; null or absent: no retries, regardless of the definition'),
  checkId: z.uuid().nullish().describe('A stored check whose hidden values replace "" in the definition'),
  filePath: z.string().max(1000).nullish().describe('Source file of the definition; results contain it'),
  sourceInfo: z
    .object({
      checkRunSuiteId: SuiteId.schema.nullish(),
      checkRunId: z.string().max(64).nullish(),
      updateSnapshots: z.boolean().nullish(),
    })
    .nullish(),
});

const Job = lazySchema(() => z.looseObject({ ...jobFields(), checkType: z.enum(checkTypeNames) }));
const DocumentedJob = lazySchema(() => {
  const [first, ...others] = checkTypes
    .filter(({ pings }) => pings === undefined)
    .map((type) =>
      definitionSchema(type)
        .safeExtend({ ...jobFields(), checkType: z.literal(type.name) })
        .meta({
          id: `${pascalName(type)}Job`,
          description: `${type.title}, to run without storing it`,
        }),
    );
  return first ? z.discriminatedUnion('checkType', [first, ...others]) : Job.schema;
});

const label = z.string().min(1).max(255);
const runFields = () => ({
  name: label.describe('Name of the test session'),
  project: z
    .object({
      logicalId: label,
      name: z.string().max(255).nullish(),
      repoUrl: z.string().max(1000).nullish(),
    })
    .nullish()
    .describe('Errors of the same project are grouped together'),
  sharedFiles: z
    .array(z.object({ path: z.string().min(1).max(1000), content: z.string().max(1_000_000) }))
    .max(maxFiles)
    .default([])
    .describe(
      'Files that definitions refer to by index in `dependencies`, `setupScriptDependencies` and `tearDownScriptDependencies`',
    ),
  runLocation: RunLocation.schema.describe('Location of all runs'),
  repoInfo: RepoInfo.schema.describe('Commit of the definitions; errors and lists show it'),
  environment: z.string().max(1000).nullish(),
  environmentVariables: z
    .array(EnvironmentVariable.schema)
    .max(50)
    .default([])
    .describe('They override variables of the same name of a definition'),
  shouldRecord: z.boolean().default(true).describe('Accepted; every session is kept'),
  streamLogs: z.boolean().default(false).describe('Whether followers also receive the log of each run'),
  refreshCache: z.boolean().default(false).describe('Accepted; there is no cache to refresh'),
});

export const DefinitionRun = lazySchema(() =>
  z.object({ ...runFields(), checkRunJobs: z.array(Job.schema).min(1).max(maxJobs) }),
);
export type DefinitionRun = z.output<typeof DefinitionRun.schema>;

export const definitionRunRoutes = defineRoutes('Test sessions', 'account', {
  runDefinitions: {
    method: 'POST',
    path: '/v1/test-sessions/run',
    summary:
      'Run definitions that are not stored checks; their results do not affect statuses, alerts or analytics',
    body: DefinitionRun,
    documentedBody: lazySchema(() =>
      z
        .object({ ...runFields(), checkRunJobs: z.array(DocumentedJob.schema).min(1).max(maxJobs) })
        .meta({ id: 'DefinitionRun' }),
    ),
    ignoredFields: [
      'checkRunJobs.*.sourceFile',
      'checkRunJobs.*.group.v',
      ...ignoredInAssertions.map((name) => `checkRunJobs.*.request.assertions.*.${name}`),
    ],
    bodyLimitBytes: 16 * 1024 * 1024,
    rateLimit: { requests: 60, windowSeconds: 60 },
    otherErrors: [409],
    success: accepted,
    response: lazySchema(() =>
      z.object({
        schedulingId: z.string(),
        testSessionId: z.string(),
        testResultIds: z
          .record(z.string(), z.string())
          .describe('Ids of the results by logicalId, available once the runs have results'),
        sequenceIds: z.record(z.string(), z.string()).describe('By logicalId'),
      }),
    ),
  },
  awaitScheduling: {
    method: 'GET',
    path: '/v1/test-sessions/scheduling/{id}/completion',
    summary: 'Whether the runs of POST /v1/test-sessions/run are queued: always true after its response',
    params: z.object({ id: z.uuid() }),
    query: CompletionQuery,
    response: lazySchema(() =>
      z.object({ status: z.enum(['SUCCEEDED', 'FAILED']), error: z.string().nullable() }),
    ),
  },
});
