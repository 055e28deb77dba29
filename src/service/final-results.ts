import { failureCatalogue, isFailureCode } from '../checks/failure.ts';
import type { Nouns } from './store/store.ts';
import type { ResultRow, RunRow } from './store/tables.ts';

/** A final result and the run it ends. */
export interface FinalResult {
  readonly run: RunRow;
  readonly row: ResultRow;
}

/** Makes final results count: the status of their checks follows them. In the transaction that stored them. */
export async function countFinalResults(
  nouns: Nouns,
  results: readonly FinalResult[],
  now: number,
): Promise<void> {
  const changes = results.map(({ run, row: result }) => ({
    checkId: result.check_id,
    accountId: result.account_id,
    hasFailures: result.has_failures === 1,
    hasErrors: result.has_errors === 1,
    isDegraded: result.is_degraded === 1,
    measuredMs: wasMeasured(result) ? result.response_time : null,
    certificateExpiresAt: result.certificate_expires,
    location: result.run_location,
    slotLocation: run.slot_location,
    checkRunId: result.check_run_id,
    slotAt: result.slot_at,
  }));
  const parallel = await nouns.checks.parallelAmong(changes.map(({ checkId }) => checkId));
  await nouns.statuses.apply(changes, parallel, now);
}

/**
 * Ends runs whose next attempt will not happen: the result of the last attempt becomes the final one (check model 2.1).
 */
export async function promoteLastAttempts(nouns: Nouns, runs: readonly RunRow[], now: number): Promise<void> {
  const ids = runs.flatMap((run) => (run.last_result_id === null ? [] : [run.last_result_id]));
  const promoted = new Map((await nouns.results.promote(ids)).map((row) => [row.run_id, row]));
  const final = runs.flatMap((run) => {
    const row = promoted.get(run.id);
    return row ? [{ run, row }] : [];
  });
  await countFinalResults(nouns, final, now);
  await nouns.runs.finish(
    runs.map((run) => run.id),
    now,
  );
}

/** Whether the response time is one: the target answered. */
export function wasMeasured(result: Pick<ResultRow, 'has_errors' | 'code'>): boolean {
  if (result.has_errors === 1) return false;
  if (result.code === null) return true;
  if (!isFailureCode(result.code)) return false;
  const entry = failureCatalogue[result.code];
  return entry.owner === 'target' && !entry.isNetworkError;
}
