import type { RetryStrategy } from '../../checks/contract/common-fields.ts';
import { resultFlags } from '../../checks/contract/failure.ts';
import { findCheckType } from '../../checks/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { type ResultReceipt, ResultReport } from '../../protocol/agent/agent.ts';
import { withGroups } from '../checks/effective-check.ts';
import { locationsOf } from '../checks/slots.ts';
import type { Check } from '../checks/store.ts';
import type { LocationCaller } from '../http/auth.ts';
import { describeIssues } from '../http/validation.ts';
import { agentSeenWindowMs } from '../locations/agents/sightings.ts';
import type { ServiceMetrics } from '../metrics.ts';
import { resultIdOf } from '../runs/lease-store.ts';
import { decideRetry, type Retry } from '../runs/retries.ts';
import type { RunRow } from '../runs/tables.ts';
import { queuedSignals } from '../store/engine/signals.ts';
import type { Repositories, Store } from '../store.ts';
import { failedResult, groupErrors } from './error-groups/group-errors.ts';
import { countFinalResults, insertResults, wasMeasured } from './settle.ts';
import { asJson, failedTests, storedDetail } from './stored-detail.ts';
import type { ArtifactRow, CountedResultRow, StaleResultRow } from './tables.ts';

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
    location: LocationCaller,
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
    const { queued, stored } = await this.#store.transaction(async (repositories) => {
      const batch = new Batch(repositories, location, reporter, now);
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
  readonly #repositories: Repositories;
  readonly #location: LocationCaller;
  readonly #reporter: Reporter;
  readonly #now: number;
  readonly #accepted: {
    readonly run: RunRow;
    readonly row: CountedResultRow;
    readonly report: ResultReport;
  }[] = [];
  readonly #stale: StaleResultRow[] = [];

  constructor(repositories: Repositories, location: LocationCaller, reporter: Reporter, now: number) {
    this.#repositories = repositories;
    this.#location = location;
    this.#reporter = reporter;
    this.#now = now;
  }

  get acceptedRows(): CountedResultRow[] {
    return this.#accepted.map(({ row }) => row);
  }

  async judge(entries: readonly Entry[], receipts: ResultReceipt[]): Promise<void> {
    // The runs are locked first: what another batch has stored meanwhile is seen below.
    const runs = await this.#repositories.runs.lockMany([
      ...new Set(entries.map(({ report }) => report.runId)),
    ]);
    const ids = entries.map(({ report }) => report.resultId);
    const stored = await this.#repositories.results.existing(ids);
    if ([...runs.values()].some((run) => run.test_session_id !== null)) {
      for (const id of await this.#repositories.testSessions.existingResults(ids)) stored.add(id);
    }
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

  #resultRow(report: ResultReport, run: RunRow): CountedResultRow {
    const { detail, problem, measure } = storedDetail(run.check_type, report.detail);
    const errorMessages =
      problem === null
        ? report.errorMessages
        : [...report.errorMessages, `The detail of this result was not stored: ${problem}`];
    const flags = resultFlags(report.failure ?? undefined);
    const hasTime = wasMeasured({
      check_type: run.check_type,
      has_errors: flags.hasErrors ? 1 : 0,
      code: report.failure?.code ?? null,
    });
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
      host_started: report.hostStartedAt,
      timing_doubtful: report.isTimingDoubtful ? 1 : 0,
      certificate_expires: report.certificateExpiresAt,
      agent_id: this.#reporter.agentId,
      error_messages: JSON.stringify(errorMessages),
      error_group_ids: '[]',
      detail,
      measured: measure(hasTime ? report.responseTimeMs : null),
    };
  }

  /** Stores what was accepted and fenced; returns the signals for alerts and for runs that were queued again. */
  async store() {
    await this.#repositories.results.insertStale(this.#stale);
    const failed = this.#accepted.filter(({ report }) => report.failure !== null);
    const stored = await this.#repositories.checks.findMany(failed.map(({ run }) => run.check_id));
    const inEffect = await withGroups(this.#repositories, [...stored.values()]);
    const checks = new Map(inEffect.map((check) => [check.id, check]));
    const sessions = await this.#repositories.testSessions.findMany(
      this.#accepted.map(({ run }) => run.test_session_id),
    );
    const groupIds = await groupErrors(
      this.#repositories,
      this.#accepted.map(({ run, row, report }) =>
        failedResult(
          run,
          row.id,
          report.errorMessages,
          sessions.get(run.test_session_id ?? ''),
          run.test_session_id === null ? [] : failedTests(run.check_type, row.detail),
        ),
      ),
      this.#now,
    );
    const places = failed.length === 0 ? new Map<string, string>() : await this.#placesWithAgents();
    const final: { run: RunRow; row: CountedResultRow }[] = [];
    const retried: { run: RunRow; row: CountedResultRow; retry: Retry; locationId: string | null }[] = [];
    for (const { run, row: ungrouped, report } of this.#accepted) {
      const row = { ...ungrouped, error_group_ids: JSON.stringify(groupIds.get(ungrouped.id) ?? []) };
      const session = sessions.get(run.test_session_id ?? '');
      const retry = decide(report, run, {
        check: checks.get(run.check_id),
        session,
        placesWithAgents: [...places.keys()],
        now: this.#now,
      });
      if (!retry) final.push({ run, row });
      else {
        const locationId =
          retry.location === run.location ? run.location_id : (places.get(retry.location) ?? null);
        retried.push({ run, row: { ...row, result_type: 'ATTEMPT' }, retry, locationId });
      }
    }
    await insertResults(this.#repositories, [...final, ...retried]);
    await this.#repositories.artifacts.insert(this.#artifactRows());
    await this.#repositories.runs.finish(
      final.map(({ run }) => run.id),
      this.#now,
    );
    for (const { run, row, retry, locationId } of retried) {
      await this.#repositories.runs.requeueForRetry(run.id, {
        attempt: run.attempt + 1,
        readyAt: retry.readyAtMs,
        location: retry.location,
        locationId,
        lastResultId: row.id,
      });
    }
    const hasAlerts = await countFinalResults(this.#repositories, final, this.#now);
    const requeued = retried.map(
      ({ run, locationId }): RunRow => ({ ...run, state: 'queued', location_id: locationId }),
    );
    // All polls of the location hear of a run that waits for its back-off: each has to know when to look.
    const signals = queuedSignals(requeued).map((signal) =>
      signal.kind === 'queued' ? { ...signal, count: Number.MAX_SAFE_INTEGER } : signal,
    );
    if (hasAlerts) signals.push({ kind: 'alerts' });
    return signals;
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
    const ids = await this.#repositories.locations.idsBySlug([accountId]);
    const agents = await this.#repositories.locations.agents(
      [...ids.values()],
      this.#now - agentSeenWindowMs,
    );
    const alive = new Set(agents.map((agent) => agent.location_id));
    return new Map(
      [...ids].filter(([, id]) => alive.has(id)).map(([key, id]) => [key.slice(accountId.length + 1), id]),
    );
  }
}

function decide(
  report: ResultReport,
  run: RunRow,
  {
    check,
    session,
    placesWithAgents,
    now,
  }: {
    readonly check: Check | undefined;
    readonly session: { readonly retry_strategy: string | null } | undefined;
    readonly placesWithAgents: readonly string[];
    readonly now: number;
  },
): Retry | null {
  if (!report.failure || !check || findCheckType(check.checkType)?.isRetried === false) return null;
  // A check that was switched off meanwhile is not tried again; test sessions take what is switched off too.
  if (!check.activated && !session) return null;
  // A test session stays where it was sent.
  const locations = session ? [] : locationsOf(check.definition);
  const own = session?.retry_strategy ?? null;
  return decideRetry({
    failure: report.failure,
    attempt: run.attempt,
    firstStartMs: run.first_leased_at ?? now,
    nowMs: now,
    retryStrategy: own === null ? (check.definition.retryStrategy as RetryStrategy | null) : JSON.parse(own),
    doubleCheck: own === null && check.definition.doubleCheck === true,
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
