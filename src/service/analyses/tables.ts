import type { analysisVerdicts } from '@picket/protocol/results/root-cause-analysis.ts';

export interface RootCauseAnalysisRow {
  id: string;
  account_id: string;
  group_id: string;
  group_kind: 'check' | 'test-session';
  /** Whether it was created automatically rather than by a user: each group has one. */
  automatic: 0 | 1;
  provider: string;
  model: string;
  /** JSON: the analysis in the format of the API; null until it is done. */
  content: string | null;
  duration_ms: number | null;
  user_context: string | null;
  verdict: (typeof analysisVerdicts)[number] | null;
  created: number;
  completed: number | null;
  /** JSON: findings of a model; null without any. */
  model_content: string | null;
  /** When to ask a model; null if not planned. */
  model_due: number | null;
  /** Number of failed attempts to ask it. */
  model_tries: number;
  /** When it is to be made or repeated; null if nothing is left to do. */
  due: number | null;
}

export interface AnalysisTables {
  root_cause_analyses: RootCauseAnalysisRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends AnalysisTables {}
}
