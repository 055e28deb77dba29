import type { analysisVerdicts } from '@picket/protocol/results/root-cause-analysis.ts';

export interface RootCauseAnalysisRow {
  id: string;
  account_id: string;
  group_id: string;
  group_kind: 'check' | 'test-session';
  /** Whether nobody asked for it: there is one for each group. */
  automatic: 0 | 1;
  provider: string;
  model: string;
  /** JSON: the analysis as the API has it; null until it is done. */
  content: string | null;
  duration_ms: number | null;
  user_context: string | null;
  verdict: (typeof analysisVerdicts)[number] | null;
  created: number;
  completed: number | null;
  /** JSON: what a model adds; null where none was asked. */
  model_content: string | null;
  /** When a model is to be asked; null when it is not. */
  model_due: number | null;
  /** How often it was asked in vain. */
  model_tries: number;
  /** When it is to be made, or looked at once more; null when there is nothing left to do. */
  due: number | null;
}

export interface AnalysisTables {
  root_cause_analyses: RootCauseAnalysisRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends AnalysisTables {}
}
