import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { AnalysisEvidence } from './evidence-store.ts';
import { RootCauseAnalyses } from './store.ts';

export const analyses = defineFeature({
  name: 'analyses',
  repositories: { analyses: RootCauseAnalyses, analysisEvidence: AnalysisEvidence },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof analyses> {}
}
