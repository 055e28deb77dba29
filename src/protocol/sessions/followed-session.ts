import { EnvironmentVariable, RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { HttpLogEntry } from '@picket/checks/http/detail.ts';
import { checkTypeNames } from '@picket/checks/index.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { accepted, defineRoutes } from '../http/route.ts';
import { RepoInfo, RunLocation, SuiteId } from './definition-run.ts';

/**
 * Operations for existing command lines, in addition to those on test sessions: they start a session under a name of
 * their own, follow it over MQTT, and fetch the log and the data of each result.
 */

const FollowedTrigger = lazySchema(() =>
  z
    .object({
      name: z.string().min(1).max(255).default('Triggered Session'),
      runLocation: RunLocation.schema.describe('Location of all runs'),
      checkRunSuiteId: SuiteId.schema.nullish(),
      targetTags: z
        .array(z.array(z.string().min(1)).max(100))
        .max(100)
        .nullish()
        .describe('Checks with all tags of any of these lists; a tag prefixed with "!" must be absent'),
      checkId: z.union([z.uuid(), z.array(z.uuid()).max(1000)]).nullish(),
      environmentVariables: z.array(EnvironmentVariable.schema).max(200).default([]),
      testRetryStrategy: RetryStrategy.schema.nullish().describe('null or absent: no retries'),
      repoInfo: RepoInfo.schema,
      environment: z.string().max(1000).nullish(),
      shouldRecord: z.boolean().default(true).describe('Accepted; every session is kept'),
      refreshCache: z.boolean().default(false).describe('Accepted; there is no cache to refresh'),
    })
    .meta({ id: 'FollowedTrigger' }),
);
export type FollowedTrigger = z.output<typeof FollowedTrigger.schema>;
const ResultParams = lazySchema(() => z.object({ id: z.uuid(), resultId: z.uuid() }));
/** The region is part of the names in results; the key alone identifies the file. */
const FileParams = lazySchema(() => z.object({ region: z.string().max(64), key: z.uuid() }));
const links = z.array(z.string());

export const followedSessionRoutes = defineRoutes('Test sessions', 'account', {
  triggerFollowedSession: {
    method: 'POST',
    path: '/next/test-sessions/trigger',
    summary: 'Test checks, and follow their runs by checkRunSuiteId',
    body: FollowedTrigger,
    isRun: true,
    otherErrors: [409],
    success: accepted,
    response: lazySchema(() =>
      z.object({
        checks: z.array(z.object({ id: z.string(), name: z.string(), checkType: z.enum(checkTypeNames) })),
        testSessionId: z.string(),
        testResultIds: z.record(z.string(), z.string()).describe('By the id of the check'),
        sequenceIds: z.record(z.string(), z.string()).describe('By the id of the check'),
      }),
    ),
  },
  getTestSessionLink: {
    method: 'GET',
    path: '/next/test-sessions/{id}/link',
    summary: 'URL of the page of a test session',
    params: z.object({ id: z.uuid() }),
    response: z.object({ link: z.string() }),
  },
  getTestResultLinks: {
    method: 'GET',
    path: '/next/test-sessions/{id}/results/{resultId}/links',
    summary: 'The page of a result of a test session, and its available files',
    params: ResultParams,
    response: lazySchema(() =>
      z.object({
        testResultLink: z.string(),
        testTraceLinks: links,
        videoLinks: links,
        screenshotLinks: links,
      }),
    ),
  },
  getResultLog: {
    method: 'GET',
    path: '/next/assets/log/{region}/{key}',
    summary: 'The log of a result of a test session, by stage for requests',
    params: FileParams,
    response: lazySchema(() =>
      z.union([
        z.array(HttpLogEntry.schema),
        z.object({
          setup: z.array(HttpLogEntry.schema),
          request: z.array(HttpLogEntry.schema),
          teardown: z.array(HttpLogEntry.schema),
        }),
      ]),
    ),
  },
  getResultData: {
    method: 'GET',
    path: '/next/assets/check-run-data/{region}/{key}',
    summary: 'Details of a result of a test session',
    params: FileParams,
    response: z.looseObject({}),
  },
});
