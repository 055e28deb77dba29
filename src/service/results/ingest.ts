import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@picket/lib/clock.ts';
import { Gathering } from '@picket/lib/turns/gathering.ts';
import { describeIssues } from '@picket/platform/http/validation.ts';
import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import { type Signal, testedSignals } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { type ResultReceipt, ResultReport } from '@picket/protocol/agent/agent.ts';
import { type KnownLocations, knownLocations } from '../agent-presence/presence.ts';
import { withGroups } from '../checks/effective-check.ts';
import type { Check } from '../checks/store.ts';
import { resultIdOf } from '../runs/lease-store.ts';
import type { Retry } from '../runs/retries.ts';
import type { RunRow } from '../runs/tables.ts';
import type { EveryNthPass } from './details/kept-details.ts';
import { failedResult, groupErrors } from './error-groups/group-errors.ts';
import { rejected, resultIdIn } from './receipts.ts';
import { artifactRows, type ReportOrigin, resultRow, staleRow } from './reported-rows.ts';
import { decide, retrySignals, type SessionSettings } from './retry-of-report.ts';
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

/** Number of results of a request that are judged together. */
const resultsPerPortion = 100;
/** Number of results of several requests that share a transaction. */
const resultsPerTransaction = 200;
const resultsPerStep = 10;

/** A well-formed report of a request, with the place of its receipt. */
interface Entry {
  readonly index: number;
  readonly report: ResultReport;
  readonly reporter: Reporter;
  readonly receipts: ResultReceipt[];
}

/** Reports of one request. */
interface Portion {
  readonly location: LocationCaller;
  readonly entries: readonly Entry[];
}

/**
 * Accepts the results that agents report. Each report is judged individually and gets its receipt; one bad report never
 * fails the batch. Up to a hundred of them are stored together or not at all, in one transaction: results, the ends (or
 * next attempts) of their runs and the statuses of their checks. An agent that gets no response sends the same batch
 * again. While a transaction of a location is in progress, what its other agents report gathers for the next one: the
 * more agents report, the fewer transactions and statements each result costs. Receipts are sent after the commit.
 */
export class Ingest {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #metrics: IngestOptions['metrics'];
  readonly #onStored: IngestOptions['onStored'];
  readonly #everyNthPass: EveryNthPass;
  readonly #gathering = new Gathering<Portion>({
    work: (portions) => this.#ingestTogether(portions),
    sizeOf: ({ entries }) => entries.length,
    mostSize: resultsPerTransaction,
  });

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
    for (let start = 0; start < items.length; start += resultsPerPortion) {
      const entries: Entry[] = [];
      for (const [offset, item] of items.slice(start, start + resultsPerPortion).entries()) {
        // Yields to other requests: reports may be large.
        if (offset % resultsPerStep === resultsPerStep - 1) await setImmediate();
        const index = start + offset;
        const parsed = ResultReport.safeParse(item);
        if (parsed.success)
          entries.push({ index, report: withLowerCaseIds(parsed.data), reporter, receipts });
        else receipts[index] = rejected(resultIdIn(item), describeIssues(parsed.error.issues));
      }
      if (entries.length > 0) await this.#gathering.run(location.id, { location, entries });
    }
    return receipts;
  }

  /** @param portions of one location. */
  async #ingestTogether(portions: readonly Portion[]): Promise<void> {
    const [first] = portions;
    if (!first) return;
    const now = this.#clock.wallMs();
    const { queued, stored } = await this.#store.transaction(async (repositories) => {
      const batch = new Batch(repositories, first.location, now);
      await batch.judge(portions.flatMap(({ entries }) => entries));
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
  readonly origin: ReportOrigin;
}

interface RetriedResult extends Pick<AcceptedResult, 'run' | 'row'> {
  readonly retry: Retry;
  readonly locationId: string | null;
}

interface Decided {
  readonly final: readonly AcceptedResult[];
  readonly retried: readonly RetriedResult[];
}

/** The work of one transaction. */
class Batch {
  readonly #repositories: Repositories;
  readonly #location: LocationCaller;
  readonly #now: number;
  readonly #accepted: AcceptedResult[] = [];
  readonly #stale: StaleResultRow[] = [];

  constructor(repositories: Repositories, location: LocationCaller, now: number) {
    this.#repositories = repositories;
    this.#location = location;
    this.#now = now;
  }

  get accepted(): readonly AcceptedResult[] {
    return this.#accepted;
  }

  async judge(entries: readonly Entry[]): Promise<void> {
    const ended = await this.#endPassed(entries);
    const others = entries.filter(({ report }) => !ended.has(report.runId));
    // Runs are locked first, so that the reads below see what another batch has stored meanwhile.
    const runs = await this.#repositories.runs.lockMany([
      ...new Set(others.map(({ report }) => report.runId)),
    ]);
    const stored = await this.#storedAmong(others, runs);
    for (const entry of entries) {
      const { report } = entry;
      const run = ended.get(report.runId);
      const receipt = run ? this.#accept(entry, run) : this.#judgeOne(entry, runs.get(report.runId), stored);
      if (receipt.status === 'accepted') stored.add(report.resultId);
      entry.receipts[entry.index] = receipt;
    }
  }

  #originOf({ reporter: { agentId, sessionId } }: Entry): ReportOrigin {
    return { agentId, sessionId, locationId: this.#location.id, now: this.#now };
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

  #judgeOne(entry: Entry, run: RunRow | undefined, stored: ReadonlySet<string>): ResultReceipt {
    const { report } = entry;
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
      return this.#fence(entry, run);
    }
    return this.#accept(entry, run);
  }

  #accept(entry: Entry, run: RunRow): ResultReceipt {
    const { report } = entry;
    const origin = this.#originOf(entry);
    this.#accepted.push({ run, report, origin, ...resultRow(report, run, origin) });
    return { resultId: report.resultId, status: 'accepted', reason: null };
  }

  #fence(entry: Entry, run: RunRow): ResultReceipt {
    // A deleted check leaves nothing behind, not even evidence.
    if (run.reason !== 'deleted') this.#stale.push(staleRow(entry.report, run, this.#originOf(entry)));
    return {
      resultId: entry.report.resultId,
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
      this.#accepted.flatMap(({ run, report, origin }) => artifactRows(report, run, origin)),
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
    for (const result of accepted) {
      const { run, row, report } = result;
      const retry = decide(report, run, {
        check: checks.get(run.check_id),
        session: sessions.get(run.test_session_id ?? ''),
        locationsWithAgents: locations.withAgents,
        now: this.#now,
      });
      if (!retry) {
        final.push(result);
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

function withLowerCaseIds(report: ResultReport): ResultReport {
  return {
    ...report,
    resultId: report.resultId.toLowerCase(),
    runId: report.runId.toLowerCase(),
  };
}
