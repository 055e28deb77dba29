import type { RetryStrategy } from '../checks/common-fields.ts';
import { resultFlags } from '../checks/failure.ts';
import { findCheckType } from '../checks/index.ts';
import type { Clock } from '../lib/clock.ts';
import { toError } from '../lib/errors.ts';
import { type ResultReceipt, ResultReport } from '../protocol/agent.ts';
import { agentSeenWindowMs } from './agent-sightings.ts';
import { measuredValues } from './analytics/measured-values.ts';
import { countFinalResults, type FinalResult, wasMeasured } from './final-results.ts';
import { resultIdOf } from './ledger.ts';
import type { ServiceMetrics } from './metrics.ts';
import { decideRetry, type Retry } from './retries.ts';
import { queuedSignals } from './scheduler.ts';
import { locationsOf } from './slots.ts';
import type { Check } from './store/checks.ts';
import type { Nouns, Store } from './store/store.ts';
import type { ArtifactRow, PrivateLocationRow, ResultRow, RunRow, StaleResultRow } from './store/tables.ts';
import { describeIssues } from './validation.ts';

export interface IngestOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly metrics: ServiceMetrics;
}

export interface Reporter {
  readonly agentId: string;
  readonly sessionId: string;
}

/** A report that is well-formed, with its place in the request. */
interface Entry {
  readonly index: number;
  readonly report: ResultReport;
}

/**
 * Takes the results agents report. Each report is judged by itself and gets its receipt; one bad report never fails the
 * batch. A batch is one transaction: results, the ends (or next attempts) of their runs and the statuses of their checks
 * are stored together or not at all, and an agent that gets no answer sends the same batch again.
 */
export class Ingest {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #metrics: ServiceMetrics;

  constructor(options: IngestOptions) {
    this.#store = options.store;
    this.#metrics = options.metrics;
    this.#clock = options.clock;
  }

  async take(
    location: PrivateLocationRow,
    reporter: Reporter,
    items: readonly unknown[],
  ): Promise<ResultReceipt[]> {
    const receipts: ResultReceipt[] = items.map(() => rejected(null, 'not judged'));
    const entries: Entry[] = [];
    items.forEach((item, index) => {
      const parsed = ResultReport.safeParse(item);
      if (parsed.success) entries.push({ index, report: withLowerCaseIds(parsed.data) });
      else receipts[index] = rejected(resultIdIn(item), describeIssues(parsed.error.issues));
    });
    const now = this.#clock.wallMs();
    const { queued, stored } = await this.#store.transaction(async (nouns) => {
      const batch = new Batch(nouns, location, reporter, now);
      await batch.judge(entries, receipts);
      const queued = await batch.store();
      return { queued, stored: batch.acceptedRows };
    });
    this.#metrics.countResults(stored);
    this.#store.signals.send(queued);
    return receipts;
  }
}

/** The work of one transaction. */
class Batch {
  readonly #nouns: Nouns;
  readonly #location: PrivateLocationRow;
  readonly #reporter: Reporter;
  readonly #now: number;
  readonly #accepted: { readonly run: RunRow; readonly row: ResultRow; readonly report: ResultReport }[] = [];
  readonly #stale: StaleResultRow[] = [];

  constructor(nouns: Nouns, location: PrivateLocationRow, reporter: Reporter, now: number) {
    this.#nouns = nouns;
    this.#location = location;
    this.#reporter = reporter;
    this.#now = now;
  }

  get acceptedRows(): ResultRow[] {
    return this.#accepted.map(({ row }) => row);
  }

  async judge(entries: readonly Entry[], receipts: ResultReceipt[]): Promise<void> {
    // The runs are locked first: what another batch has stored meanwhile is seen below.
    const runs = await this.#nouns.runs.lockMany([...new Set(entries.map(({ report }) => report.runId))]);
    const stored = await this.#nouns.results.existing(entries.map(({ report }) => report.resultId));
    for (const { index, report } of entries) {
      const receipt = this.#judgeOne(report, runs.get(report.runId), stored);
      if (receipt.status === 'accepted') stored.add(report.resultId);
      receipts[index] = receipt;
    }
  }

  #judgeOne(report: ResultReport, run: RunRow | undefined, stored: ReadonlySet<string>): ResultReceipt {
    const { resultId } = report;
    // A run that was retried elsewhere belongs to both locations: each may repeat what it reported.
    if (stored.has(resultId)) return { resultId, status: 'duplicate', reason: null };
    if (!run) return rejected(resultId, 'there is no such run');
    if (resultIdOf(report.runId, report.leaseNumber) !== resultId) {
      return rejected(resultId, 'resultId is not the one of this lease');
    }
    const isHere = run.location_id === this.#location.id;
    if (!isHere && run.account_id !== this.#location.account_id) {
      return rejected(resultId, 'there is no such run');
    }
    if (!isHere || run.state !== 'leased' || run.lease_number !== report.leaseNumber) {
      return this.#fence(report, run);
    }
    this.#accepted.push({ run, row: this.#resultRow(report, run), report });
    return { resultId, status: 'accepted', reason: null };
  }

  #fence(report: ResultReport, run: RunRow): ResultReceipt {
    // A deleted check leaves nothing behind, no evidence either.
    if (run.reason !== 'deleted') {
      this.#stale.push({
        id: report.resultId,
        run_id: report.runId,
        check_id: run.check_id,
        location_id: this.#location.id,
        lease_number: report.leaseNumber,
        agent_id: this.#reporter.agentId,
        session_id: this.#reporter.sessionId,
        received: this.#now,
        report: asJson(report) ?? JSON.stringify({ ...report, detail: null }),
      });
    }
    return {
      resultId: report.resultId,
      status: 'stale',
      reason: 'the lease was lost before the result came',
    };
  }

  #resultRow(report: ResultReport, run: RunRow): ResultRow {
    const { detail, problem, measure } = storedDetail(run.check_type, report.detail);
    const errorMessages =
      problem === null
        ? report.errorMessages
        : [...report.errorMessages, `The detail of this result was not stored: ${problem}`];
    const flags = resultFlags(report.failure ?? undefined);
    const hasTime = wasMeasured({ has_errors: flags.hasErrors ? 1 : 0, code: report.failure?.code ?? null });
    return {
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
      response_time: report.responseTimeMs,
      started: report.startedAt,
      stopped: report.stoppedAt,
      created: this.#now,
      attempts: run.attempt,
      sequence_id: run.sequence_id,
      check_run_id: run.check_run_id,
      slot_at: run.slot_at,
      start_delay: report.startDelayMs,
      agent_lag: report.agentLagMs,
      agent_overhead: report.agentOverheadMs,
      timing_doubtful: report.isTimingDoubtful ? 1 : 0,
      certificate_expires: report.certificateExpiresAt,
      agent_id: this.#reporter.agentId,
      error_messages: JSON.stringify(errorMessages),
      detail,
      measured: measure(hasTime ? report.responseTimeMs : null),
    };
  }

  /** Stores what was accepted and fenced; returns the signals for runs that were queued again. */
  async store() {
    await this.#nouns.results.insertStale(this.#stale);
    const failed = this.#accepted.filter(({ report }) => report.failure !== null);
    const checks = await this.#nouns.checks.findMany(failed.map(({ run }) => run.check_id));
    const places = failed.length === 0 ? new Map<string, string>() : await this.#placesWithAgents();
    const final: FinalResult[] = [];
    const retried: { run: RunRow; row: ResultRow; retry: Retry; locationId: string | null }[] = [];
    for (const { run, row, report } of this.#accepted) {
      const retry = decide(report, run, checks.get(run.check_id), [...places.keys()], this.#now);
      if (!retry) final.push({ run, row });
      else {
        const locationId =
          retry.location === run.location ? run.location_id : (places.get(retry.location) ?? null);
        retried.push({ run, row: { ...row, result_type: 'ATTEMPT' }, retry, locationId });
      }
    }
    await this.#nouns.results.insert([...final, ...retried].map(({ row }) => row));
    await this.#nouns.artifacts.insert(this.#artifactRows());
    await this.#nouns.runs.finish(
      final.map(({ run }) => run.id),
      this.#now,
    );
    for (const { run, row, retry, locationId } of retried) {
      await this.#nouns.runs.requeueForRetry(run.id, {
        attempt: run.attempt + 1,
        readyAt: retry.readyAtMs,
        location: retry.location,
        locationId,
        lastResultId: row.id,
      });
    }
    await countFinalResults(this.#nouns, final, this.#now);
    const requeued = retried.map(
      ({ run, locationId }): RunRow => ({ ...run, state: 'queued', location_id: locationId }),
    );
    // All polls of the location hear of a run that waits for its back-off: each has to know when to look.
    return queuedSignals(requeued).map((signal) =>
      signal.kind === 'queued' ? { ...signal, count: Number.MAX_SAFE_INTEGER } : signal,
    );
  }

  #artifactRows(): ArtifactRow[] {
    return this.#accepted.flatMap(({ run, report }) =>
      (report.artifacts ?? []).map(
        (artifact, position): ArtifactRow => ({
          result_id: report.resultId,
          position,
          name: artifact.name,
          check_id: run.check_id,
          location_id: this.#location.id,
          content_type: artifact.contentType,
          size_bytes: artifact.sizeBytes,
          sha256: artifact.sha256,
          state: artifact.state,
          reason: artifact.reason,
          scrub: artifact.scrub ? JSON.stringify(artifact.scrub) : null,
          created: this.#now,
          stored: null,
        }),
      ),
    );
  }

  /** Private locations of the account where an agent was seen lately: slug → id. */
  async #placesWithAgents(): Promise<Map<string, string>> {
    const accountId = this.#location.account_id;
    const ids = await this.#nouns.locations.idsBySlug([accountId]);
    const agents = await this.#nouns.locations.agents([...ids.values()], this.#now - agentSeenWindowMs);
    const alive = new Set(agents.map((agent) => agent.location_id));
    return new Map(
      [...ids].filter(([, id]) => alive.has(id)).map(([key, id]) => [key.slice(accountId.length + 1), id]),
    );
  }
}

interface StoredDetail {
  readonly detail: string | null;
  readonly problem: string | null;
  /** What analytics follow of it, as JSON. */
  measure(responseTimeMs: number | null): string | null;
}

/**
 * What is stored of a detail: nothing when it does not fit the schema of its type. The verdict counts without it; a
 * newer agent may know of things that this service does not.
 */
function storedDetail(checkType: string, reported: unknown): StoredDetail {
  const type = findCheckType(checkType);
  const measureOf = (detail: unknown) => (responseTimeMs: number | null) =>
    type ? JSON.stringify(measuredValues(type.analytics, detail, responseTimeMs)) : null;
  const none = { detail: null, problem: null, measure: measureOf(null) };
  if (reported === null || reported === undefined) return none;
  if (!type) return { ...none, problem: `this service does not know checks of type ${checkType}` };
  const parsed = type.detail.safeParse(reported);
  if (!parsed.success) return { ...none, problem: describeIssues(parsed.error.issues, 'detail') };
  const detail = asJson(parsed.data);
  if (detail === null) return { ...none, problem: 'detail: is nested too deeply' };
  return { detail, problem: null, measure: measureOf(parsed.data) };
}

function decide(
  report: ResultReport,
  run: RunRow,
  check: Check | undefined,
  placesWithAgents: readonly string[],
  now: number,
): Retry | null {
  // A check that was switched off meanwhile is not tried again.
  if (!report.failure || !check?.activated) return null;
  const locations = locationsOf(check.definition);
  return decideRetry({
    failure: report.failure,
    attempt: run.attempt,
    firstStartMs: run.first_leased_at ?? now,
    nowMs: now,
    retryStrategy: check.definition.retryStrategy as RetryStrategy | null,
    doubleCheck: check.definition.doubleCheck === true,
    runParallel: check.definition.runParallel === true,
    location: run.location,
    otherLocations: locations.filter((name) => name !== run.location && placesWithAgents.includes(name)),
  });
}

function rejected(resultId: string | null, reason: string): ResultReceipt {
  return { resultId, status: 'rejected', reason };
}

function resultIdIn(item: unknown): string | null {
  if (typeof item !== 'object' || item === null || !('resultId' in item)) return null;
  return typeof item.resultId === 'string' ? item.resultId.slice(0, 128) : null;
}

function withLowerCaseIds(report: ResultReport): ResultReport {
  return {
    ...report,
    resultId: report.resultId.toLowerCase(),
    runId: report.runId.toLowerCase(),
  };
}

function flagOrNull(value: boolean | null): 0 | 1 | null {
  if (value === null) return null;
  return value ? 1 : 0;
}

/** Text that both engines can store: PostgreSQL has no NUL in texts. */
function storableText(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD').toWellFormed();
}

/** JSON of a value from outside, or null when it is nested so deeply that the stack does not hold it. */
function asJson(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    if (toError(thrown) instanceof RangeError) return null;
    throw thrown;
  }
}
