import type { ModelAccess } from '@picket/checks/model/access.ts';
import { modelOf } from '@picket/platform/config/config.ts';
import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import type { Job } from '@picket/platform/jobs/job-loop.ts';
import { rootCauseAnalysisRoutes } from '@picket/protocol/results/root-cause-analysis.ts';
import { Analyst } from './analyst.ts';
import { AnalysisEvidence } from './evidence-store.ts';
import { rootCauseAnalysisHandlers } from './routes.ts';
import { RootCauseAnalyses } from './store.ts';

const repositories = { analyses: RootCauseAnalyses, analysisEvidence: AnalysisEvidence };

export const analyses: Feature = {
  name: 'analyses',
  repositories,
  parts: {
    model: ({ config }) => modelOf(config),
    modelQuestions: async (parts) =>
      parts.model &&
      (await import('@picket/model-analyst/model-questions.ts')).modelQuestions({
        ...parts,
        model: parts.model,
      }),
  },
  routes: Object.values(rootCauseAnalysisRoutes),
  handlers: rootCauseAnalysisHandlers,
  jobs: (parts) => [
    {
      ...{ name: 'root cause analyses', leaderOnly: true, wakesOn: ['alerts'], longestMs: 2_000 },
      work: new Analyst({ ...parts, asksModel: parts.model !== undefined }),
    },
    ...(parts.modelQuestions ?? []),
  ],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Model for analyses; undefined if none is configured. */
    readonly model: ModelAccess | undefined;
    /** Jobs that ask the model about causes that rules leave open. */
    readonly modelQuestions: readonly Job[] | undefined;
  }
}
