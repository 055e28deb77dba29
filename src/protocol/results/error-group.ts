import { z } from 'zod';
import { Paging, QueryBoolean } from '../http/query.ts';
import { accepted, defineRoute, successful } from '../http/route.ts';

const DateTime = z.iso.datetime();

/** What a model found out about the cause of an error (check model 3.8). */
export const RootCauseAnalysis = z
  .object({
    id: z.string(),
    created_at: DateTime,
    provider: z.string(),
    model: z.string(),
    durationMs: z.number(),
    analysis: z.object({
      classification: z.string(),
      rootCause: z.string(),
      userImpact: z.string(),
      codeFix: z.string().nullable(),
      evidence: z
        .array(
          z.object({
            artifacts: z.array(z.object({ name: z.string(), type: z.string() })),
            description: z.string(),
          }),
        )
        .nullable(),
      referenceLinks: z.array(z.object({ url: z.string(), title: z.string() })).nullable(),
    }),
    userContext: z.array(z.object({ text: z.string(), type: z.string() })).nullable(),
  })
  .meta({ id: 'RootCauseAnalysis' });

const GroupFields = {
  id: z.string(),
  errorHash: z.string().describe('SHA-256 of the cleaned message'),
  rawErrorMessage: z.string().nullable().describe('As it was the first time'),
  cleanedErrorMessage: z.string().describe('Without what changes from one time to the next'),
  firstSeen: DateTime,
  lastSeen: DateTime,
  count: z.int().describe('How many results had the error'),
  archivedUntilNextEvent: z.boolean(),
  rootCauseAnalyses: z.array(RootCauseAnalysis),
};

export const ErrorGroup = z.object({ ...GroupFields, checkId: z.string() }).meta({ id: 'ErrorGroup' });
export type ErrorGroup = z.output<typeof ErrorGroup>;

export const TestSessionErrorGroup = z
  .object({
    ...GroupFields,
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
        'Which tests of a Playwright suite had the error: one for each occurrence, newest first, the last 100; null for other checks',
      ),
  })
  .meta({ id: 'TestSessionErrorGroup' });
export type TestSessionErrorGroup = z.output<typeof TestSessionErrorGroup>;

/** Of a list without pages. */
export const maxListed = 1000;

const ListQuery = z.object({
  ...Paging,
  includeArchived: QueryBoolean.default(false).describe('Archived groups too'),
});

/** Without a limit all that there are: spec.md knows no pages here. */
const WholeListQuery = ListQuery.extend({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe(`Items per page; without it all of them, the newest ${maxListed} at most`),
});

export const ErrorGroupPatch = z
  .object({
    archivedUntilNextEvent: z
      .boolean()
      .optional()
      .describe('true: archived until the error comes back; false: no longer archived, in either way'),
    archiveForEver: z.boolean().optional().describe('true: archived even when the error comes back'),
  })
  .meta({ id: 'ErrorGroupPatch' });
export type ErrorGroupPatch = z.output<typeof ErrorGroupPatch>;

const groupRoute = { tag: 'Error groups', credential: 'account', success: successful } as const;
const params = z.object({ id: z.uuid() });

export const errorGroupRoutes = {
  listErrorGroups: defineRoute({
    ...groupRoute,
    method: 'GET',
    path: '/v1/error-groups',
    operationId: 'listErrorGroups',
    summary: 'Error groups of all checks, last seen first',
    query: ListQuery,
    response: z.array(ErrorGroup),
  }),
  listErrorGroupsOfCheck: defineRoute({
    ...groupRoute,
    method: 'GET',
    path: '/v1/error-groups/checks/{checkId}',
    operationId: 'listErrorGroupsOfCheck',
    summary: 'Error groups of a check, last seen first',
    params: z.object({ checkId: z.uuid() }),
    query: ListQuery,
    response: z.array(ErrorGroup),
  }),
  getErrorGroup: defineRoute({
    ...groupRoute,
    method: 'GET',
    path: '/v1/error-groups/{id}',
    operationId: 'getErrorGroup',
    summary: 'One error group',
    params,
    response: ErrorGroup,
  }),
  updateErrorGroup: defineRoute({
    ...groupRoute,
    method: 'PATCH',
    path: '/v1/error-groups/{id}',
    operationId: 'updateErrorGroup',
    summary: 'Archive an error group, or take it back',
    params,
    body: ErrorGroupPatch,
    response: ErrorGroup,
  }),
  listTestSessionErrorGroups: defineRoute({
    ...groupRoute,
    method: 'GET',
    path: '/v1/test-session-error-groups',
    operationId: 'listTestSessionErrorGroups',
    summary: 'Error groups of all test sessions, last seen first',
    query: ListQuery,
    response: z.array(TestSessionErrorGroup),
  }),
  listTestSessionErrorGroupsOfProject: defineRoute({
    ...groupRoute,
    method: 'GET',
    path: '/v1/test-session-error-groups/projects/{projectId}',
    operationId: 'listTestSessionErrorGroupsOfProject',
    summary: 'Error groups of the test sessions of a project, last seen first',
    params: z.object({ projectId: z.string().min(1).max(255) }),
    query: WholeListQuery,
    response: z.array(TestSessionErrorGroup),
  }),
  getTestSessionErrorGroup: defineRoute({
    ...groupRoute,
    method: 'GET',
    path: '/v1/test-session-error-groups/{id}',
    operationId: 'getTestSessionErrorGroup',
    summary: 'One error group of test sessions',
    params,
    response: TestSessionErrorGroup,
  }),
  updateTestSessionErrorGroup: defineRoute({
    ...groupRoute,
    method: 'PATCH',
    path: '/v1/test-session-error-groups/{id}',
    operationId: 'updateTestSessionErrorGroup',
    summary: 'Archive an error group of test sessions, or take it back',
    params,
    body: ErrorGroupPatch,
    response: TestSessionErrorGroup,
  }),
};

export const AnalysisRequest = z
  .object({ userContext: z.string().max(256).nullish().describe('What the model should know besides') })
  .nullish();
const AnalysisStarted = z.object({ id: z.string(), status: z.literal('PENDING') });

const analysisRoute = { tag: 'Root cause analyses', credential: 'account' } as const;

export const rootCauseAnalysisRoutes = {
  analyseErrorGroup: defineRoute({
    ...analysisRoute,
    method: 'POST',
    path: '/v1/root-cause-analyses/error-groups/{id}',
    operationId: 'analyseErrorGroup',
    summary: 'Have a model look for the cause of an error group; 402 without a model provider',
    params,
    body: AnalysisRequest,
    isBodyOptional: true,
    otherErrors: [402],
    success: accepted,
    response: AnalysisStarted,
  }),
  analyseTestSessionErrorGroup: defineRoute({
    ...analysisRoute,
    method: 'POST',
    path: '/v1/root-cause-analyses/test-session-error-groups/{id}',
    operationId: 'analyseTestSessionErrorGroup',
    summary: 'The same for an error group of test sessions',
    params,
    body: AnalysisRequest,
    isBodyOptional: true,
    otherErrors: [402],
    success: accepted,
    response: AnalysisStarted,
  }),
  getRootCauseAnalysis: defineRoute({
    ...analysisRoute,
    method: 'GET',
    path: '/v1/root-cause-analyses/{id}',
    operationId: 'getRootCauseAnalysis',
    summary: 'An analysis and how far it is',
    params,
    success: successful,
    response: z.object({ ...RootCauseAnalysis.shape, status: z.enum(['PENDING', 'COMPLETED']) }),
  }),
};
