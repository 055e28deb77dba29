import { failingParts } from '@picket/checks/judging/failure-words.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { accepted, defineRoutes } from '../http/route.ts';

export const classifications = [
  'CONFIGURATION_ERROR',
  'INFRASTRUCTURE_ERROR',
  'APPLICATION_ERROR',
  'PERFORMANCE_ERROR',
  'MONITORING_ERROR',
  'UNKNOWN',
] as const;
export const certainties = ['CERTAIN', 'LIKELY', 'OPEN'] as const;
export const analysisVerdicts = ['RIGHT', 'WRONG'] as const;

const EvidenceItem = lazySchema(() =>
  z.object({
    artifacts: z.array(z.object({ name: z.string(), type: z.string() })),
    description: z.string(),
  }),
);

const ModelCause = lazySchema(() =>
  z.object({
    cause: z.string().describe('A possible cause, chosen by the model and worded by the service'),
    classification: z.enum(classifications),
    kind: z.string().nullable().default(null).describe('The same in words, with the owner'),
    next: z.string().describe('How to verify the cause'),
    statements: z
      .array(
        z.object({
          text: z.string().describe('Supporting facts, composed from passages of the evidence'),
          evidence: z.array(EvidenceItem.schema.extend({ id: z.string() })),
        }),
      )
      .describe('Statements without support in the evidence were dropped'),
  }),
);
export type ModelCause = z.output<typeof ModelCause.schema>;

/** Findings of a model if rules leave a cause open. */
export const ModelFindings = lazySchema(() =>
  z.object({
    provider: z.string().describe('Protocol of the model'),
    model: z.string(),
    askedAt: z.iso.datetime(),
    durationMs: z.number(),
    causes: z.array(ModelCause.schema).describe('The most likely first, according to the model'),
    droppedCount: z.int().describe('Causes and statements that were dropped'),
    problem: z.string().nullable().describe('Why the model gave no answer'),
    usage: z.object({
      calls: z.int(),
      inputTokens: z.int(),
      outputTokens: z.int(),
      isEstimated: z
        .boolean()
        .default(false)
        .describe(
          'Whether the tokens are estimated from the messages, because the model did not report them',
        ),
      cost: z.number().nullable().describe('Calculated with the configured prices; null without prices'),
    }),
  }),
);
export type ModelFindings = z.output<typeof ModelFindings.schema>;

/** Analysis of the cause of an error (check model 3.8; `certainty` and `verdict` are ours). */
export const RootCauseAnalysis = lazySchema(() =>
  z
    .object({
      id: z.string(),
      created_at: z.iso.datetime(),
      provider: z.string().describe('`picket`: this service'),
      model: z.string().describe('`rules`: fixed rules, without a model'),
      durationMs: z.number(),
      analysis: z.object({
        classification: z
          .enum(classifications)
          .describe(
            'The problem: a setting (of target, certificate, name or check); network, host or gateway; the responding program; its speed; the monitoring itself; unknown',
          ),
        kind: z
          .string()
          .nullable()
          .default(null)
          .describe(
            'The classification in words, with the owner: a setting of the target, of the location, of the check; null in analyses of earlier versions',
          ),
        whatFailed: z
          .string()
          .nullable()
          .default(null)
          .describe(
            'The failed part according to the run, as in `failure.whatFailed` of its result; the cause lies in it or in a part of it',
          ),
        failing: z
          .enum(failingParts)
          .nullable()
          .default(null)
          .describe('The failed part as a value; null in analyses of earlier versions'),
        certainty: z
          .enum(certainties)
          .describe(
            'CERTAIN: the evidence proves it; LIKELY: the best of several explanations; OPEN: facts without a cause',
          ),
        rootCause: z.string().describe('Begins with the certainty'),
        userImpact: z.string(),
        codeFix: z.string().nullable().describe('The recommended next step'),
        evidence: z.array(EvidenceItem.schema).describe('Evidence, and where to find it'),
        referenceLinks: z.array(z.object({ url: z.string(), title: z.string() })).nullable(),
      }),
      fromModel: ModelFindings.schema
        .nullable()
        .describe('Possible causes, ranked by a model; null if the cause is certain, or no model was used'),
      userContext: z
        .array(z.object({ text: z.string(), type: z.string() }))
        .nullable()
        .describe('Note of the requester; used by a model, but not by rules'),
      verdict: z.enum(analysisVerdicts).nullable().describe('Feedback of users'),
    })
    .meta({ id: 'RootCauseAnalysis' }),
);
export type RootCauseAnalysis = z.output<typeof RootCauseAnalysis.schema>;

export const AnalysisRequest = lazySchema(() =>
  z
    .object({
      userContext: z.string().max(256).nullish().describe('Additional notes for readers'),
    })
    .meta({ id: 'RootCauseAnalysisRequest' })
    .nullish(),
);

const AnalysisPending = lazySchema(() =>
  z.object({ id: z.string(), status: z.literal('PENDING') }).meta({ id: 'RootCauseAnalysisPending' }),
);
const AnalysisCompleted = lazySchema(() =>
  RootCauseAnalysis.schema.extend({ status: z.literal('COMPLETED') }).meta({
    id: 'RootCauseAnalysisCompleted',
  }),
);

export const RootCauseAnalysisPatch = lazySchema(() =>
  z
    .object({ verdict: z.enum(analysisVerdicts).nullable().describe('null withdraws it') })
    .meta({ id: 'RootCauseAnalysisPatch' }),
);

const params = z.object({ id: z.uuid() });
const analysisRoute = { tag: 'Root cause analyses', credential: 'account', params } as const;
const startRoute = {
  ...analysisRoute,
  method: 'POST',
  body: AnalysisRequest,
  isBodyOptional: true,
  success: accepted,
  response: AnalysisPending,
} as const;

export const rootCauseAnalysisRoutes = defineRoutes('Root cause analyses', 'account', {
  analyseErrorGroup: {
    ...startRoute,
    path: '/v1/root-cause-analyses/error-groups/{id}',
    summary: 'Analyse the cause of an error group now; new groups are analysed automatically',
  },
  analyseTestSessionErrorGroup: {
    ...startRoute,
    path: '/v1/root-cause-analyses/test-session-error-groups/{id}',
    summary: 'The same for an error group of test sessions',
  },
  getRootCauseAnalysis: {
    ...analysisRoute,
    method: 'GET',
    path: '/v1/root-cause-analyses/{id}',
    summary: 'An analysis; 202 until it is done',
    otherSuccess: accepted,
    response: lazySchema(() =>
      z.discriminatedUnion('status', [AnalysisPending.schema, AnalysisCompleted.schema]),
    ),
  },
  updateRootCauseAnalysis: {
    ...analysisRoute,
    method: 'PATCH',
    path: '/v1/root-cause-analyses/{id}',
    summary: 'Rate an analysis as right or wrong',
    body: RootCauseAnalysisPatch,
    response: AnalysisCompleted,
  },
});
