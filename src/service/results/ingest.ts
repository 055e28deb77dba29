import { setImmediate } from 'node:timers/promises';
import type { RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { describeIssues } from '@picket/platform/http/validation.ts';
import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import { queuedSignals, type Signal, testedSignals } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { type ResultReceipt, ResultReport } from '@picket/protocol/agent/agent.ts';
import { type KnownLocations, knownLocations } from '../agent-presence/presence.ts';
import { withGroups } from '../checks/effective-check.ts';
import { locationsOf } from '../checks/slots.ts';
import type { Check } from '../checks/store.ts';
import { resultIdOf } from '../runs/lease-store.ts';
import { decideRetry, type Retry, storedRetryStrategy } from '../runs/retries.ts';
import type { RunRow } from '../runs/tables.ts';
import type { EveryNthPass } from './details/kept-details.ts';
import { failedResult, groupErrors } from './error-groups/group-errors.ts';
import { rejected, resultIdIn } from './receipts.ts';
import { artifactRows, type ReportOrigin, resultRow, staleRow } from './reported-rows.ts';
import { storeOutcome } from './settle.ts';
import { failedTests, leftPlan, type RunTarget } from './stored-detail.ts';
import type { CountedResultRow, StaleResultRow } from './tables.ts';

export interface IngestOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly metrics: { countResults(rows: readonly CountedResultRow[]): void };
  /** How often passes keep their details; absent: always. */
  readonly everyNthPass?: EveryNthPass | undefined;
  /** Called with results once they are stored; absent if unused. */
  readonly onStored?: ((stored: readonly StoredResult[]) => void) | undefined;
}

/** A stored result, with its run and the detail as reported. */
export interface StoredResult {
  readonly run: RunRow;
  readonly row: CountedResultRow;
  readonly detail: unknown;
}

export interface Reporter {
  readonly agentId: string;
  readonly sessionId: string;
}

const resultsPerTransaction = 100;
const resultsPerStep = 10;

/** A well-formed report, with its position in the request. */
interface Entry {
  readonly index: number;
  readonly report: ResultReport;
}

/**
 * Accepts the results that agents report. Each report is judged individually and gets its receipt; one bad report never
 * fails the batch. Up to a hundred of them form one transaction: results, the ends (or next attempts) of their runs and
 * the statuses of their checks are stored together or not at all, and an agent that gets no response sends the same
 * batch again.
 */
export class Ingest {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #metrics: IngestOptions['metrics'];
  readonly #onStored: IngestOptions['onStored'];
  readonly #everyNthPass: EveryNthPass;

  constructor(options: IngestOptions) {
    this.#store = options.store;
    this.#metrics = options.metrics;
    this.#clock = options.clock;
    this.#onStored = options.onStored;
    this.#everyNthPass = options.everyNthPass ?? 1;
  }

  async ingest(
    location: LocationCaller,
    reporter: Reporter,
    items: readonly unknown[],
  ): Promise<ResultReceipt[]> {
    const receipts: ResultReceipt[] = items.map(() => rejected(null, 'not judged'));
    for (let start = 0; start < items.length; start += resultsPerTransaction) {
      const entries: Entry[] = [];
      for (const [offset, item] of items.slice(start, start + resultsPerTransaction).entries()) {
        // Yields to other requests: reports may be large.
        if (offset % resultsPerStep === resultsPerStep - 1) await setImmediate();
        const index = start + offset;
        const parsed = ResultReport.safeParse(item);
        if (parsed.success) entries.push({ index, report: withLowerCaseIds(parsed.data) });
        else receipts[index] = rejected(resultIdIn(item), describeIssues(parsed.error.issues));
      }
      await this.#ingestBatch(location, reporter, entries, receipts);
    }
    return receipts;
  }

  async #ingestBatch(
    location: LocationCaller,
    reporter: Reporter,
    entries: readonly Entry[],
    receipts: ResultReceipt[],
  ): Promise<void> {
    const now = this.#clock.wallMs();
    const { queued, stored } = await this.#store.transaction(async (repositories) => {
      const batch = new Batch(repositories, location, reporter, now);
      await batch.judge(entries, receipts);
      const queued = await batch.store(this.#everyNthPass);
      return { queued, stored: batch.accepted };
    });
    this.#metrics.countResults(stored.map(({ row }) => row));
    this.#store.signals.send(queued);
    if (!this.#onStored) return;
    this.#onStored(stored.map(({ run, row, report }) => ({ run, row, detail: report.detail })));
  }
}

/** An accepted report: the run it ends or that is retried, and its row. */
interface AcceptedResult {
  readonly run: RunRow;
  readonly row: CountedResultRow;
  readonly target: RunTarget;
  readonly report: ResultReport;
}

interface RetriedResult extends Pick<AcceptedResult, 'run' | 'row'> {
  readonly retry: Retry;
  readonly locationId: string | null;
}

interface Decided {
  readonly final: readonly AcceptedResult[];
  readonly retried: readonly RetriedResult[];
}

/** Settings of a test session for its runs. */
interface SessionSettings {
  readonly project_id: string | null;
  readonly environment: string | null;
  readonly retry_strategy: string | null;
}

/** The work of one transaction. */
class Batch {
  readonly #repositories: Repositories;
  readonly #location: LocationCaller;
  readonly #origin: ReportOrigin;
  readonly #now: number;
  readonly #accepted: AcceptedResult[] = [];
  readonly #stale: StaleResultRow[] = [];

  constructor(repositories: Repositories, location: LocationCaller, reporter: Reporter, now: number) {
    this.#repositories = repositories;
    this.#location = location;
    const { agentId, sessionId } = reporter;
    this.#origin = { agentId, sessionId, locationId: location.id, now };
    this.#now = now;
  }

  get accepted(): readonly AcceptedResult[] {
    return this.#accepted;
  }

  async judge(entries: readonly Entry[], receipts: ResultReceipt[]): Promise<void> {
    const ended = await this.#endPassed(entries);
    const others = entries.filter(({ report }) => !ended.has(report.runId));
    // Runs are locked first, so that the reads below see what another batch has stored meanwhile.
    const runs = await this.#repositories.runs.lockMany([
      ...new Set(others.map(({ report }) => report.runId)),
    ]);
    const stored = await this.#storedAmong(others, runs);
    for (const { index, report } of entries) {
      const run = ended.get(report.runId);
      const receipt = run
        ? this.#accept(report, run)
        : this.#judgeOne(report, runs.get(report.runId), stored);
      if (receipt.status === 'accepted') stored.add(report.resultId);
      receipts[index] = receipt;
    }
  }

  /**
   * Ends the runs that passed, as nearly all do: they are never retried, so only the validity of the lease matters.
   * Returns the runs that were ended.
   */
  async #endPassed(entries: readonly Entry[]): Promise<Map<string, RunRow>> {
    const byRun = Map.groupBy(entries, ({ report }) => report.runId);
    const leases = [...byRun.values()].flatMap(([entry, another]) => {
      if (!entry || another || entry.report.failure) return [];
      const { runId, leaseNumber, resultId } = entry.report;
      return resultIdOf(runId, leaseNumber) === resultId ? [[runId, leaseNumber] as const] : [];
    });
    return this.#repositories.leases.finish(this.#location.id, leases, this.#now);
  }

  /** Ids of the results already stored. Storing a result ends its lease, so those under a valid lease are new. */
  async #storedAmong(entries: readonly Entry[], runs: ReadonlyMap<string, RunRow>): Promise<Set<string>> {
    const ids = entries.flatMap(({ report }) => {
      const run = runs.get(report.runId);
      const lasts = run?.state === 'leased' && resultIdOf(run.id, run.lease_number) === report.resultId;
      return lasts ? [] : [report.resultId];
    });
    const stored = await this.#repositories.results.existing(ids);
    if ([...runs.values()].some((run) => run.test_session_id !== null)) {
      for (const id of await this.#repositories.testSessions.existingResults(ids)) stored.add(id);
    }
    return stored;
  }

  #judgeOne(report: ResultReport, run: RunRow | undefined, stored: ReadonlySet<string>): ResultReceipt {
    const { resultId } = report;
    // A run that was retried elsewhere belongs to both locations: each may repeat its report.
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
    return this.#accept(report, run);
  }

  #accept(report: ResultReport, run: RunRow): ResultReceipt {
    this.#accepted.push({ run, report, ...resultRow(report, run, this.#origin) });
    return { resultId: report.resultId, status: 'accepted', reason: null };
  }

  #fence(report: ResultReport, run: RunRow): ResultReceipt {
    // A deleted check leaves nothing behind, not even evidence.
    if (run.reason !== 'deleted') this.#stale.push(staleRow(report, run, this.#origin));
    return {
      resultId: report.resultId,
      status: 'stale',
      reason: 'the lease was lost before the result came',
    };
  }

  /** Stores accepted and fenced reports; returns the signals for alerts and for requeued runs. */
  async store(everyNthPass: EveryNthPass): Promise<Signal[]> {
    const repositories = this.#repositories;
    await repositories.results.insertStale(this.#stale);
    const sessions = await repositories.testSessions.findMany(
      this.#accepted.map(({ run }) => run.test_session_id),
    );
    const { final, retried } = await this.#withErrorGroups(await this.#decideRetries(sessions), sessions);
    await repositories.artifacts.insert(
      this.#accepted.flatMap(({ run, report }) => artifactRows(report, run, this.#origin)),
    );
    await this.#requeue(retried);
    await this.#keepPlans(final);
    const outcome = { final, attempts: retried };
    const hasAlerts = await storeOutcome(repositories, outcome, this.#now, everyNthPass);
    return [
      ...retrySignals(retried),
      ...testedSignals(this.#accepted.map(({ run }) => run)),
      ...(hasAlerts ? [{ kind: 'alerts' } as const] : []),
    ];
  }

  /** Accepted reports, with the groups that their errors belong to. */
  async #withErrorGroups(
    { final, retried }: Decided,
    sessions: ReadonlyMap<string, SessionSettings>,
  ): Promise<Decided> {
    const ended = new Set(final.map(({ row }) => row.id));
    const failed = this.#accepted.map(({ run, row, report }) =>
      failedResult(run, row.id, report.errorMessages, {
        hasFailedRun: ended.has(row.id) && report.failure !== null,
        session: sessions.get(run.test_session_id ?? ''),
        tests: run.test_session_id === null ? [] : failedTests(run.check_type, row.detail),
      }),
    );
    const groupIds = await groupErrors(this.#repositories, failed, this.#now);
    const grouped = <Result extends Pick<AcceptedResult, 'row'>>(result: Result): Result => ({
      ...result,
      row: { ...result.row, error_group_ids: JSON.stringify(groupIds.get(result.row.id) ?? []) },
    });
    return { final: final.map(grouped), retried: retried.map(grouped) };
  }

  /** Decides which results are final, and when and where other runs get another attempt. */
  async #decideRetries(sessions: ReadonlyMap<string, SessionSettings>): Promise<Decided> {
    const accepted = this.#accepted;
    const failed = accepted.filter(({ report }) => report.failure !== null);
    const stored = await this.#repositories.checks.findMany(failed.map(({ run }) => run.check_id));
    const inEffect = await withGroups(this.#repositories, [...stored.values()]);
    const checks = new Map<string, Check>(inEffect.map((check) => [check.id, check]));
    const tried = failed.flatMap(({ run }) => (run.test_session_id === null ? [] : [run.check_id]));
    for (const [id, { check }] of await this.#repositories.testDefinitions.findMany(tried))
      checks.set(id, check);
    const locations: KnownLocations =
      failed.length === 0
        ? { ids: new Map(), withAgents: new Set() }
        : await knownLocations(this.#repositories, this.#location.account_id, this.#now);
    const final: AcceptedResult[] = [];
    const retried: RetriedResult[] = [];
    for (const { run, row, target, report } of accepted) {
      const retry = decide(report, run, {
        check: checks.get(run.check_id),
        session: sessions.get(run.test_session_id ?? ''),
        locationsWithAgents: locations.withAgents,
        now: this.#now,
      });
      if (!retry) {
        final.push({ run, row, target, report });
        continue;
      }
      const staysHere = retry.location === run.location;
      const locationId = staysHere ? run.location_id : (locations.ids.get(retry.location) ?? null);
      retried.push({ run, row: { ...row, result_type: 'ATTEMPT' }, retry, locationId });
    }
    return { final, retried };
  }

  /** Stores the plans that passing runs left for later ones. */
  async #keepPlans(final: readonly AcceptedResult[]): Promise<void> {
    for (const { run, row, report } of final) {
      const isLeft = report.failure === null && run.test_session_id === null;
      const plan = isLeft ? leftPlan(run.check_type, row.detail) : null;
      if (!plan) continue;
      await this.#repositories.plans.keep({
        ...{ check_id: run.check_id, account_id: run.account_id, result_id: row.id },
        ...{ reason: plan.reason, content: JSON.stringify(plan.content), created: this.#now },
      });
    }
  }

  async #requeue(retried: readonly RetriedResult[]): Promise<void> {
    for (const { run, row, retry, locationId } of retried) {
      await this.#repositories.runs.requeueForRetry(run.id, {
        attempt: run.attempt + 1,
        readyAt: retry.readyAtMs,
        location: retry.location,
        locationId,
        lastResultId: row.id,
      });
    }
  }
}

/** Wakes all polls of a location for a run in back-off, because each has to know when to poll the database. */
function retrySignals(retried: readonly RetriedResult[]): Signal[] {
  const requeued = retried.map(
    ({ run, locationId }): RunRow => ({ ...run, state: 'queued', location_id: locationId }),
  );
  return queuedSignals(requeued).map((signal) =>
    signal.kind === 'queued' ? { ...signal, count: Number.MAX_SAFE_INTEGER } : signal,
  );
}

function decide(
  report: ResultReport,
  run: RunRow,
  {
    check,
    session,
    locationsWithAgents,
    now,
  }: {
    readonly check: Check | undefined;
    readonly session: SessionSettings | undefined;
    readonly locationsWithAgents: ReadonlySet<string>;
    readonly now: number;
  },
): Retry | null {
  if (!report.failure || !check || findCheckType(check.checkType)?.isRetried === false) return null;
  // A check that was deactivated meanwhile is not retried; test sessions also run deactivated checks.
  if (!check.activated && !session) return null;
  // A test session stays at its location.
  const locations = session ? [] : locationsOf(check.definition);
  const own = session?.retry_strategy ?? null;
  return decideRetry({
    failure: report.failure,
    attempt: run.attempt,
    firstStartMs: run.first_leased_at ?? now,
    nowMs: now,
    retryStrategy:
      own === null ? (check.definition.retryStrategy as RetryStrategy | null) : storedRetryStrategy(own),
    doubleCheck: own === null && check.definition.doubleCheck === true,
    runParallel: check.definition.runParallel === true,
    location: run.location,
    otherLocations: locations.filter((name) => name !== run.location && locationsWithAgents.has(name)),
  });
}

function withLowerCaseIds(report: ResultReport): ResultReport {
  return {
    ...report,
    resultId: report.resultId.toLowerCase(),
    runId: report.runId.toLowerCase(),
  };
}
