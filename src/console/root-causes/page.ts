import { AppError } from '@picket/lib/errors.ts';
import { checkResultRoutes } from '@picket/protocol/results/check-result.ts';
import { rootCauseAnalysisRoutes } from '@picket/protocol/results/root-cause-analysis.ts';
import { testSessionRoutes } from '@picket/protocol/sessions/test-session.ts';
import { path } from '../html.ts';
import { type Page, type PageAnswer, type PageCall, posts } from '../page.ts';

/** Forms about root causes on the pages of runs: those of checks, and those of test sessions. */
export const rootCausePages: readonly Page[] = [
  ...posts('/checks/:checkId/runs/:resultId/root-cause', {
    '': ['Analyse the cause', lookIntoRun],
    '/:analysisId': ['Rate the root cause', judgeAnalysis],
  }),
  ...posts('/sessions/tests/:id/results/:resultId/root-cause', {
    '': ['Analyse the cause', lookIntoTest],
    '/:analysisId': ['Rate the root cause', judgeAnalysis],
  }),
];

/** Stores a user's verdict on an analysis. */
async function judgeAnalysis({ api, params, form }: PageCall): Promise<PageAnswer> {
  await api.call(rootCauseAnalysisRoutes.updateRootCauseAnalysis, {
    params: { id: params.analysisId ?? '' },
    body: { verdict: form.get('verdict') === 'RIGHT' ? 'RIGHT' : 'WRONG' },
  });
  return { goTo: runPage(params) };
}

/** Requests a new analysis of a run's first error. */
async function lookIntoRun({ api, params }: PageCall): Promise<PageAnswer> {
  const { checkId = '', resultId = '' } = params;
  const result = await api.call(checkResultRoutes.getCheckResult, {
    params: { checkId, checkResultId: resultId },
  });
  const id = firstGroup(result);
  await api.call(rootCauseAnalysisRoutes.analyseErrorGroup, { params: { id }, body: null });
  return { goTo: runPage(params) };
}

async function lookIntoTest({ api, params }: PageCall): Promise<PageAnswer> {
  const { id: sessionId = '', resultId = '' } = params;
  const result = await api.call(testSessionRoutes.getTestSessionResult, {
    params: { id: sessionId, resultId },
  });
  const id = firstGroup(result);
  await api.call(rootCauseAnalysisRoutes.analyseTestSessionErrorGroup, { params: { id }, body: null });
  return { goTo: runPage(params) };
}

function firstGroup({ errorGroupIds: [id] }: { readonly errorGroupIds: readonly string[] }): string {
  if (id !== undefined) return id;
  throw new AppError('NOT_FOUND', 'The run has no error to analyse.');
}

function runPage({ id = '', checkId, resultId = '' }: PageCall['params']) {
  return checkId === undefined
    ? path`/sessions/tests/${id}/results/${resultId}`
    : path`/checks/${checkId}/runs/${resultId}`;
}
