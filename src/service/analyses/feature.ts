import type { ModelAccess } from '../../checks/model/access.ts';
import { modelOf } from '../../platform/config/config.ts';
import type { Feature, RepositoriesOf } from '../../platform/feature/feature.ts';
import { rootCauseAnalysisRoutes } from '../../protocol/results/root-cause-analysis.ts';
import { Analyst } from './analyst.ts';
import { modelQuestions } from './asking/model-questions.ts';
import { AnalysisEvidence } from './evidence-store.ts';
import { rootCauseAnalysisHandlers } from './routes.ts';
import { RootCauseAnalyses } from './store.ts';

const repositories = { analyses: RootCauseAnalyses, analysisEvidence: AnalysisEvidence };

export const analyses: Feature = {
  name: 'analyses',
  repositories,
  parts: { model: ({ config }) => modelOf(config) },
  routes: Object.values(rootCauseAnalysisRoutes),
  handlers: rootCauseAnalysisHandlers,
  jobs: (parts) => [
    {
      ...{ name: 'root cause analyses', leaderOnly: true, wakesOn: ['alerts'], longestMs: 2_000 },
      work: new Analyst({ ...parts, asksModel: parts.model !== undefined }),
    },
    ...modelQuestions(parts),
  ],
};

declare module '../../platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '../../platform/feature/parts.ts' {
  interface Parts {
    /** The model that analyses may ask; undefined where none is named. */
    readonly model: ModelAccess | undefined;
  }
}
