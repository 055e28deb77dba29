import { AppError } from '../../../lib/errors.ts';
import { checkResultRoutes } from '../../../protocol/results/check-result.ts';
import { rootCauseAnalysisRoutes } from '../../../protocol/results/root-cause-analysis.ts';
import { path } from '../html.ts';
import { type Page, type PageAnswer, type PageCall, posts } from '../page.ts';

/** What forms on the page of a run do about its root cause. */
export const rootCausePages: readonly Page[] = posts('/checks/:checkId/runs/:resultId/root-cause', {
  '': ['Look for the cause again', lookAgain],
  '/:analysisId': ['Say what the cause is', judgeAnalysis],
});

/** Keeps what somebody says of an analysis. */
async function judgeAnalysis({ api, params, form }: PageCall): Promise<PageAnswer> {
  const { checkId = '', resultId = '', analysisId = '' } = params;
  await api.call(rootCauseAnalysisRoutes.updateRootCauseAnalysis, {
    params: { id: analysisId },
    body: { verdict: form.get('verdict') === 'RIGHT' ? 'RIGHT' : 'WRONG' },
  });
  return { goTo: path`/checks/${checkId}/runs/${resultId}` };
}

/** Has the cause of a run's first error looked for once more. */
async function lookAgain({ api, params }: PageCall): Promise<PageAnswer> {
  const { checkId = '', resultId = '' } = params;
  const result = await api.call(checkResultRoutes.getCheckResult, {
    params: { checkId, checkResultId: resultId },
  });
  const [id] = result.errorGroupIds;
  if (id === undefined)
    throw new AppError('NOT_FOUND', 'The run has no error whose cause could be looked for.');
  await api.call(rootCauseAnalysisRoutes.analyseErrorGroup, { params: { id }, body: null });
  return { goTo: path`/checks/${checkId}/runs/${resultId}` };
}
