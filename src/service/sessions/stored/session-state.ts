import { greatestOf } from '@picket/lib/bounds/extremes.ts';
import type { checkSessionStatusNames } from '@picket/protocol/sessions/check-session.ts';
import type { ResultRow, TestResultRow } from '../../results/tables.ts';
import type { RunRow } from '../../runs/tables.ts';
import type { TestSessionStatus } from './test-session-store.ts';

type CheckSessionStatus = (typeof checkSessionStatusNames)[number];

/** Progress of requested runs. */
export interface SessionState {
  readonly status: CheckSessionStatus;
  readonly isFinal: boolean;
  /** When the last run ended; null while some are unfinished. */
  readonly stopped: number | null;
}

const isLive = (run: RunRow) => run.state === 'queued' || run.state === 'leased';

/**
 * State of a session, derived from its runs and their results (check model 4.8). While runs are unfinished, it reflects
 * those that have ended. Then the worst counts: cancelled, failed, timed out (no agent took a run in time), degraded.
 */
export function sessionState(runs: readonly RunRow[], results: readonly ResultRow[]): SessionState {
  const finals = results.filter((result) => result.result_type === 'FINAL');
  const hasFailed = finals.some((result) => result.has_failures === 1 || result.has_errors === 1);
  const isDegraded = finals.some((result) => result.is_degraded === 1);
  if (runs.some(isLive)) {
    const hasBegun = results.length > 0 || runs.some((run) => run.state !== 'queued');
    const status = hasFailed
      ? 'PROGRESS_FAILED'
      : isDegraded
        ? 'PROGRESS_DEGRADED'
        : hasBegun
          ? 'PROGRESS'
          : 'STARTED';
    return { status, isFinal: false, stopped: null };
  }
  const stopped = runs.length === 0 ? null : greatestOf(runs.map((run) => run.ended ?? run.created));
  const has = (state: RunRow['state']) => runs.some((run) => run.state === state);
  const status = has('cancelled')
    ? 'CANCELLED'
    : hasFailed
      ? 'FAILED'
      : has('missed')
        ? 'TIMED_OUT'
        : isDegraded
          ? 'DEGRADED'
          : 'PASSED';
  return { status, isFinal: true, stopped };
}

type Verdict = Pick<TestResultRow, 'has_errors' | 'has_failures'>;

/** Status of a result in the terms of its session. */
export function resultStatus({ has_errors, has_failures }: Verdict): TestSessionStatus {
  return has_errors === 1 || has_failures === 1 ? 'FAILED' : 'PASSED';
}

/** Same for a run without a final result. */
export function runStatus({ state, ended }: Pick<RunRow, 'state' | 'ended'>): TestSessionStatus {
  if (state === 'cancelled') return 'CANCELLED';
  return ended === null ? 'RUNNING' : 'FAILED';
}

/** Sequences of a test session by status. */
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
