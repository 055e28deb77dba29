import type { TestResultRow } from '../../results/tables.ts';
import type { RunRow } from '../../runs/tables.ts';
import type { TestSessionStatus } from './test-session-store.ts';

type Verdict = Pick<TestResultRow, 'has_errors' | 'has_failures'>;

/** What became of a result, in the words of the session that it belongs to. */
export function resultStatus({ has_errors, has_failures }: Verdict): TestSessionStatus {
  return has_errors === 1 || has_failures === 1 ? 'FAILED' : 'PASSED';
}

/** The same of a run that has no final result. */
export function runStatus({ state, ended }: Pick<RunRow, 'state' | 'ended'>): TestSessionStatus {
  if (state === 'cancelled') return 'CANCELLED';
  return ended === null ? 'RUNNING' : 'FAILED';
}

/** The sequences of a test session by what became of them. */
export function sequencesByStatus(
  runs: readonly Pick<RunRow, 'id' | 'sequence_id' | 'state' | 'ended'>[],
  finals: readonly (Verdict & Pick<TestResultRow, 'run_id'>)[],
): Record<'running' | 'passed' | 'failed' | 'cancelled', string[]> {
  const verdicts = new Map(finals.map((result) => [result.run_id, resultStatus(result)]));
  const those = (status: TestSessionStatus) =>
    runs
      .filter((run) => (verdicts.get(run.id) ?? runStatus(run)) === status)
      .map(({ sequence_id: sequenceId }) => sequenceId);
  return {
    running: those('RUNNING'),
    passed: those('PASSED'),
    failed: those('FAILED'),
    cancelled: those('CANCELLED'),
  };
}
