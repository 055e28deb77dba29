import type { Change } from '@picket/platform/store/engine/dialect.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { missOf } from '../alerts/gaps/gap.ts';
import { recordMeasured, recordMissed } from '../alerts/gaps/watch.ts';
import { raiseAlerts } from '../alerts/raise.ts';
import type { RunRow } from '../runs/tables.ts';
import { wasMeasured } from './analytics/measured-values.ts';
import { decideDetails, type EveryNthPass } from './details/kept-details.ts';
import type { StatusChange } from './status-store.ts';
import type { RunTarget } from './stored-detail.ts';
import type { CountedResultRow, ResultRow } from './tables.ts';

/** A final result and the run that it ends. */
export interface FinalResult {
  readonly run: RunRow;
  readonly row: ResultRow;
  /** Target of the run, if already known. */
  readonly target?: RunTarget;
}

/** A result to be stored, with its run. */
interface NewResult {
  readonly run: RunRow;
  readonly row: CountedResultRow;
}

/** Results to be stored: those that end their runs, and those of attempts that are followed by others. */
interface Outcome {
  readonly final: readonly (NewResult & FinalResult)[];
  readonly attempts: readonly NewResult[];
}

/**
 * Stores results, those of test sessions separately; ends the runs of final results, and makes the results count.
 *
 * @param everyNthPass how often scheduled passes keep their details.
 * @returns whether there are notifications to send.
 */
export async function storeOutcome(
  repositories: Repositories,
  { final, attempts }: Outcome,
  now: number,
  everyNthPass: EveryNthPass = 1,
): Promise<boolean> {
  const results = [...final, ...attempts];
  await repositories.testSessions.insertResults(
    results.flatMap(({ run, row: { measured: _measured, ...row } }) =>
      run.test_session_id === null ? [] : [{ ...row, test_session_id: run.test_session_id }],
    ),
  );
  const stored = [
    ...repositories.results.inserting(
      await withKeptDetails(
        repositories,
        results.filter(({ run }) => run.test_session_id === null),
        { everyNthPass, now },
      ),
    ),
    ...repositories.runs.finishing(
      // Runs that passed, and those of heartbeats, have already ended.
      final.flatMap(({ run }) => (run.state === 'final' ? [] : [run.id])),
      now,
    ),
  ];
  return updateStatusesAndRaiseAlerts(repositories, final, now, stored);
}

/** The rows to be stored, some without their details. On-demand runs keep theirs. */
async function withKeptDetails(
  { detailCounts }: Pick<Repositories, 'detailCounts'>,
  results: readonly NewResult[],
  keep: { readonly everyNthPass: EveryNthPass; readonly now: number },
): Promise<CountedResultRow[]> {
  const rows = results.map(({ row }) => row);
  if (keep.everyNthPass === 1) return rows;
  const ofSchedule = results.flatMap(({ run, row }) => (run.check_session_id === null ? [row] : []));
  const counts = await detailCounts.of(ofSchedule.map((row) => row.check_id));
  const { leftOut, changed } = decideDetails(ofSchedule, counts, keep);
  await detailCounts.put(changed);
  return rows.map((row) => (leftOut.has(row) ? { ...row, is_detail_left_out: true } : row));
}

/**
 * Makes final results count, in the transaction that stored them: updates the statuses of their checks and raises
 * alerts. Results of test sessions never count.
 *
 * @param stored the statements that store them.
 * @returns whether there are notifications to send.
 */
async function updateStatusesAndRaiseAlerts(
  repositories: Repositories,
  all: readonly FinalResult[],
  now: number,
  stored: readonly Change[],
): Promise<boolean> {
  const results = all.filter(({ run }) => run.test_session_id === null);
  const checkIds = results.map(({ row }) => row.check_id);
  const lastSlots = await repositories.statuses.lockLastSlots(checkIds);
  // Read after locking, to include what other transactions wrote about these checks.
  const { parallel, alerted, unmeasured } = await repositories.statuses.followed(checkIds);
  await repositories.statuses.apply(results.map(statusChange), parallel, now, stored);
  const counted = results.map(({ run, row }) => ({ row, slotLocation: run.slot_location }));
  const hasAlerts = await raiseAlerts(repositories, counted, { lastSlots, alerted }, now);
  return (await recordGaps(repositories, results, unmeasured, now)) || hasAlerts;
}

/** A measurement ends gaps; an error on our side measured nothing. */
async function recordGaps(
  repositories: Repositories,
  results: readonly FinalResult[],
  unmeasured: ReadonlySet<string>,
  now: number,
): Promise<boolean> {
  const [broken, measured] = [1, 0].map((flag) => results.filter(({ row }) => row.has_errors === flag));
  const ofGaps = (measured ?? []).filter(({ run }) => unmeasured.has(run.check_id));
  const isOver = await recordMeasured(
    repositories,
    ofGaps.map(({ run }) => ({
      checkId: run.check_id,
      location: run.slot_location,
      slotAt: run.slot_at,
    })),
    now,
  );
  const ofSchedule = (broken ?? []).filter(({ run }) => run.check_session_id === null);
  const misses = ofSchedule.map(({ run, row }) =>
    missOf(run, 'error', { code: row.code ?? '', message: row.message ?? '' }),
  );
  return (await recordMissed(repositories, misses, now)) || isOver;
}

function statusChange({ run, row: result, target }: FinalResult): StatusChange {
  return {
    targetHost: target?.host ?? null,
    targetAddress: target?.address ?? null,
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
  };
}

/** Ends runs without a next attempt: the result of the last attempt becomes the final one (check model 2.1). */
export async function promoteLastAttempts(
  repositories: Repositories,
  runs: readonly RunRow[],
  now: number,
): Promise<void> {
  const idsOf = (some: readonly RunRow[]) =>
    some.flatMap(({ last_result_id: id }) => (id === null ? [] : [id]));
  const ids = idsOf(runs.filter((run) => run.test_session_id === null));
  await repositories.testSessions.promoteResults(idsOf(runs.filter((run) => run.test_session_id !== null)));
  const promoted = new Map((await repositories.results.promote(ids)).map((row) => [row.run_id, row]));
  const final = runs.flatMap((run) => {
    const row = promoted.get(run.id);
    return row ? [{ run, row }] : [];
  });
  const ended = repositories.runs.finishing(
    runs.map((run) => run.id),
    now,
  );
  await updateStatusesAndRaiseAlerts(repositories, final, now, ended);
}
