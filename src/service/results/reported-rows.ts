import { resultFlags } from '@picket/checks/contract/failure.ts';
import type { ResultReport } from '@picket/protocol/agent/agent.ts';
import type { RunRow } from '../runs/tables.ts';
import { measuredOnDemand, wasMeasured } from './analytics/measured-values.ts';
import { asJson, type RunTarget, storedDetail } from './stored-detail.ts';
import type { ArtifactRow, CountedResultRow, StaleResultRow } from './tables.ts';

/** Limit of the column. */
const largestLeaseNumber = 2 ** 31 - 1;

/** Origin and time of a report. */
export interface ReportOrigin {
  readonly locationId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly now: number;
}

/** Row of a counted report as a final result, and the target of the run. */
export function resultRow(
  report: ResultReport,
  run: RunRow,
  origin: ReportOrigin,
): { readonly row: CountedResultRow; readonly target: RunTarget } {
  const { detail, problem, target, measure } = storedDetail(run.check_type, report.detail);
  const errorMessages =
    problem === null
      ? report.errorMessages
      : [...report.errorMessages, `The detail of this result was not stored: ${problem}`];
  const flags = resultFlags(report.failure ?? undefined);
  const hasTime = wasMeasured({
    check_type: run.check_type,
    has_errors: flags.hasErrors ? 1 : 0,
    code: report.failure?.code ?? null,
    response_time: report.responseTimeMs,
  });
  const row: CountedResultRow = {
    id: report.resultId,
    run_id: run.id,
    account_id: run.account_id,
    check_id: run.check_id,
    check_type: run.check_type,
    run_location: run.location,
    result_type: 'FINAL',
    has_failures: flags.hasFailures ? 1 : 0,
    has_errors: flags.hasErrors ? 1 : 0,
    is_degraded: flagOrNull(report.isDegraded),
    over_max: flagOrNull(report.overMaxResponseTime),
    owner: report.failure?.owner ?? null,
    code: report.failure?.code ?? null,
    message: report.failure ? storableText(report.failure.message) : null,
    failure_details: report.failure?.details ? JSON.stringify(report.failure.details) : null,
    response_time: report.responseTimeMs,
    started: report.startedAt,
    stopped: report.stoppedAt,
    created: origin.now,
    attempts: run.attempt,
    sequence_id: run.sequence_id,
    check_run_id: run.check_run_id,
    slot_at: run.slot_at,
    start_delay: report.startDelayMs,
    agent_lag: report.agentLagMs,
    agent_overhead: report.agentOverheadMs,
    host_started: report.hostStartedAt,
    timing_doubtful: report.isTimingDoubtful ? 1 : 0,
    certificate_expires: report.certificateExpiresAt,
    agent_id: origin.agentId,
    error_messages: JSON.stringify(errorMessages),
    error_group_ids: '[]',
    detail,
    measured:
      run.check_session_id === null ? measure(hasTime ? report.responseTimeMs : null) : measuredOnDemand,
  };
  return { row, target };
}

/** Row of a report that arrived after its lease was lost: evidence that never counts. */
export function staleRow(report: ResultReport, run: RunRow, origin: ReportOrigin): StaleResultRow {
  return {
    id: report.resultId,
    run_id: report.runId,
    check_id: run.check_id,
    location_id: origin.locationId,
    // A token that no lease can have is as stale as any other.
    lease_number: Math.min(report.leaseNumber, largestLeaseNumber),
    agent_id: origin.agentId,
    session_id: origin.sessionId,
    received: origin.now,
    report: asJson(report) ?? JSON.stringify({ ...report, detail: null }),
  };
}

/** Rows of the artifacts that a report names. */
export function artifactRows(
  report: ResultReport,
  run: RunRow,
  origin: ReportOrigin,
): Omit<ArtifactRow, 'trouble'>[] {
  return (report.artifacts ?? []).map((artifact, position) => ({
    result_id: report.resultId,
    position,
    name: artifact.name,
    check_id: run.check_id,
    location_id: origin.locationId,
    content_type: artifact.contentType,
    size_bytes: artifact.sizeBytes,
    sha256: artifact.sha256,
    state: artifact.state,
    reason: artifact.reason,
    scrub: artifact.scrub ? JSON.stringify(artifact.scrub) : null,
    created: origin.now,
    stored: null,
  }));
}

function flagOrNull(value: boolean | null): 0 | 1 | null {
  if (value === null) return null;
  return value ? 1 : 0;
}

/** Text that both engines can store: PostgreSQL does not allow NUL in text. */
function storableText(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD').toWellFormed();
}
