import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Paging, QueryBoolean } from '../http/query.ts';
import { defineRoutes, successful } from '../http/route.ts';
import { RootCauseAnalysis } from './root-cause-analysis.ts';

const DateTime = lazySchema(() => z.iso.datetime());

const groupFields = () => ({
  id: z.string(),
  errorHash: z.string().describe('SHA-256 of the cleaned message'),
  rawErrorMessage: z.string().nullable().describe('Message at the first occurrence'),
  cleanedErrorMessage: z.string().describe('Message without its variable parts'),
  firstSeen: DateTime.schema,
  lastSeen: DateTime.schema,
  count: z
    .int()
    .describe(
      'Number of runs that failed with the error; repeated attempts do not count, so 0 if each retry passed',
    ),
  archivedUntilNextEvent: z.boolean(),
  rootCauseAnalyses: z.array(RootCauseAnalysis.schema).describe('The last 10 finished ones, newest first'),
});

export const ErrorGroup = lazySchema(() =>
  z.object({ ...groupFields(), checkId: z.string() }).meta({ id: 'ErrorGroup' }),
);
export type ErrorGroup = z.output<typeof ErrorGroup.schema>;

export const TestSessionErrorGroup = lazySchema(() =>
  z
    .object({
      ...groupFields(),
      projectId: z.string().nullable(),
      environments: z.array(z.string()).nullable(),
      pwtMetadata: z
        .array(
          z.object({
            projectName: z.string(),
            testFile: z.string(),
            testTitle: z.string(),
            suitePath: z.array(z.string()),
          }),
        )
        .nullable()
        .describe(
          'Tests of a Playwright suite that had the error: one per occurrence, newest first, at most the last 100; null for other checks',
        ),
    })
    .meta({ id: 'TestSessionErrorGroup' }),
);
export type TestSessionErrorGroup = z.output<typeof TestSessionErrorGroup.schema>;

/** Limit of a list without pages. */
export const maxListed = 1000;

const ListQuery = lazySchema(() =>
  z.object({
    ...Paging,
    includeArchived: QueryBoolean.default(false).describe('Include archived groups'),
  }),
);

/** Without a limit, all entries: spec.md has no pages here. */
const WholeListQuery = lazySchema(() =>
  ListQuery.schema.extend({
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe(`Items per page; absent: all, at most the newest ${maxListed}`),
  }),
);

export const ErrorGroupPatch = lazySchema(() =>
  z
    .object({
      archivedUntilNextEvent: z
        .boolean()
        .optional()
        .describe('true: archive until the error recurs; false: unarchive'),
      archiveForEver: z.boolean().optional().describe('true: archive, even if the error recurs'),
    })
    .meta({ id: 'ErrorGroupPatch' }),
);
export type ErrorGroupPatch = z.output<typeof ErrorGroupPatch.schema>;

const groupRoute = { success: successful } as const;
const params = z.object({ id: z.uuid() });

export const errorGroupRoutes = defineRoutes('Error groups', 'account', {
  listErrorGroups: {
    ...groupRoute,
    method: 'GET',
    path: '/v1/error-groups',
    summary: 'Error groups of all checks, last seen first',
    query: ListQuery,
    response: lazySchema(() => z.array(ErrorGroup.schema)),
  },
  listErrorGroupsOfCheck: {
    ...groupRoute,
    method: 'GET',
    path: '/v1/error-groups/checks/{checkId}',
    summary: 'Error groups of a check, last seen first',
    params: z.object({ checkId: z.uuid() }),
    query: ListQuery,
    response: lazySchema(() => z.array(ErrorGroup.schema)),
  },
  getErrorGroup: {
    ...groupRoute,
    method: 'GET',
    path: '/v1/error-groups/{id}',
    summary: 'One error group',
    params,
    response: ErrorGroup,
  },
  updateErrorGroup: {
    ...groupRoute,
    method: 'PATCH',
    path: '/v1/error-groups/{id}',
    summary: 'Archive or unarchive an error group',
    params,
    body: ErrorGroupPatch,
    response: ErrorGroup,
  },
  listTestSessionErrorGroups: {
    ...groupRoute,
    method: 'GET',
    path: '/v1/test-session-error-groups',
    summary: 'Error groups of all test sessions, last seen first',
    query: ListQuery,
    response: lazySchema(() => z.array(TestSessionErrorGroup.schema)),
  },
  listTestSessionErrorGroupsOfProject: {
    ...groupRoute,
    method: 'GET',
    path: '/v1/test-session-error-groups/projects/{projectId}',
    summary: 'Error groups of the test sessions of a project, last seen first',
    params: z.object({ projectId: z.string().min(1).max(255) }),
    query: WholeListQuery,
    response: lazySchema(() => z.array(TestSessionErrorGroup.schema)),
  },
  getTestSessionErrorGroup: {
    ...groupRoute,
    method: 'GET',
    path: '/v1/test-session-error-groups/{id}',
    summary: 'One error group of test sessions',
    params,
    response: TestSessionErrorGroup,
  },
  updateTestSessionErrorGroup: {
    ...groupRoute,
    method: 'PATCH',
    path: '/v1/test-session-error-groups/{id}',
    summary: 'Archive or unarchive an error group of test sessions',
    params,
    body: ErrorGroupPatch,
    response: TestSessionErrorGroup,
  },
});
