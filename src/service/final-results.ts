import { type FailureCode, failureCatalogue } from '../checks/failure.ts';
import type { Nouns } from './store/store.ts';
import type { ResultRow, RunRow } from './store/tables.ts';

/** Makes final results count: the status of their checks follows them. In the transaction that stored them. */
export async function countFinalResults(
  nouns: Nouns,
  results: readonly ResultRow[],
  now: number,
): Promise<void> {
  const changes = results.map((result) => ({
    checkId: result.check_id,
    accountId: result.account_id,
    hasFailures: result.has_failures === 1,
    hasErrors: result.has_errors === 1,
    isDegraded: result.is_degraded === 1,
    measuredMs: wasMeasured(result) ? result.response_time : null,
    location: result.run_location,
    checkRunId: result.check_run_id,
    slotAt: result.slot_at,
  }));
  await nouns.statuses.apply(changes, now);
}

/**
 * Ends runs whose next attempt will not happen: the result of the last attempt becomes the final one (check model 2.1).
 */
export async function promoteLastAttempts(nouns: Nouns, runs: readonly RunRow[], now: number): Promise<void> {
  const ids = runs.flatMap((run) => (run.last_result_id === null ? [] : [run.last_result_id]));
  const promoted = await nouns.results.promote(ids);
  await countFinalResults(nouns, promoted, now);
  await nouns.runs.finish(
    runs.map((run) => run.id),
    now,
  );
}

/** Whether the response time is one: the target answered. */
function wasMeasured(result: ResultRow): boolean {
  if (result.has_errors === 1) return false;
  if (result.code === null) return true;
  const entry = failureCatalogue[result.code as FailureCode];
  return entry !== undefined && entry.owner === 'target' && !entry.isNetworkError;
}
