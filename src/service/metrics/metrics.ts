import type { ModelOutcome } from '@picket/checks/model/client.ts';
import { ModelTotals } from '@picket/checks/model/totals.ts';
import type { ClickHouseFigures } from '@picket/clickhouse/figures.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import { Counter, Gauge, Registry } from 'prom-client';
import { verdictOf } from '../check-metrics/totals.ts';
import type { DomainProof } from '../custom-domains/domain-proof.ts';
import { registerDomains } from '../custom-domains/figures.ts';
import type { AnalyticsThread } from '../results/analytics/analytics-thread.ts';
import { type MeasuredQueue, registerQueues } from './queue-metrics.ts';
import { type MeasuredStore, registerProcess, registerSchedule } from './store-metrics.ts';
import { registerStored, StoredReadings } from './stored-metrics.ts';

interface CountedResult {
  readonly account_id: string;
  readonly run_location: string;
  readonly has_failures: 0 | 1;
  readonly has_errors: 0 | 1;
  readonly is_degraded: 0 | 1 | null;
}

interface MissedRun {
  readonly account_id: string;
  readonly slot_location: string;
  readonly slot_count: number;
}

/**
 * Metrics of the service for Prometheus. Values from the database (`stored-metrics.ts`) are the same in every process.
 * Counters of results and missed slots start with the process: sum them over the processes.
 */
export class ServiceMetrics {
  readonly #results = new Map<string, number>();
  readonly #missed = new Map<string, number>();
  readonly #grouped = new Map<string, number>();
  readonly #analyses = new Map<string, number>();
  readonly #model = new ModelTotals();
  readonly #notifications = new Map<string, number>();
  readonly #deployments = new Map<string, number>();
  readonly #logins = new Map<string, number>();
  readonly #liveRefusals = new Map<string, number>();
  readonly #traces = new Map<string, number>();
  readonly #remoteWrites = new Map<string, number>();
  readonly #oddStored = new Map<string, number>();
  readonly #mcpCalls = new Map<string, number>();
  readonly #readings = new StoredReadings();
  /** Absent if no ClickHouse is configured. */
  clickHouse: ClickHouseFigures | undefined;
  /** Queues of this process that accounts share. */
  readonly queues: MeasuredQueue[] = [];
  /** Artifact store whose disk is measured. */
  artifactStore: ArtifactStore | undefined;
  /** Thread that computes reports and charts. */
  analytics: Pick<AnalyticsThread, 'problem'> | undefined;
  /** Source of the states of custom domains. */
  domainProof: DomainProof | undefined;
  /** Open connections for live results in this process. */
  liveConnections = 0;

  /** Counts stored results. */
  countResults(rows: readonly CountedResult[]): void {
    for (const row of rows) {
      add(this.#results, [row.account_id, row.run_location, verdictOf(row)], 1);
    }
  }

  /** Counts missed slots. */
  countMissed(runs: readonly MissedRun[], reason: string): void {
    for (const run of runs) add(this.#missed, [run.account_id, run.slot_location, reason], run.slot_count);
  }

  /** Counts failures that were notified together with others of the same cause. */
  countGrouped(accountId: string, kind: string, count: number): void {
    add(this.#grouped, [accountId, kind], count);
  }

  /** Counts analyses of errors by certainty. */
  countAnalysis(accountId: string, certainty: string): void {
    add(this.#analyses, [accountId, certainty.toLowerCase()], 1);
  }

  /** Counts calls of a model about an account's errors, and their cost. */
  countModelCall(accountId: string, outcome: ModelOutcome): void {
    this.#model.add(outcome, accountId);
  }

  /** Counts notifications of channels by outcome. */
  countNotification(accountId: string, channelType: string, outcome: string): void {
    add(this.#notifications, [accountId, channelType, outcome], 1);
  }

  /** Counts deployments of projects by outcome. */
  countDeployment(accountId: string, outcome: 'succeeded' | 'failed' | 'cancelled'): void {
    add(this.#deployments, [accountId, outcome], 1);
  }

  /** Counts logins at the pages by method. */
  countLogin(way: string, outcome: 'done' | 'refused'): void {
    add(this.#logins, [way, outcome], 1);
  }

  /** Counts samples for a remote-write receiver by outcome. */
  countRemoteWrite(outcome: 'sent' | 'refused' | 'dropped', samples: number): void {
    add(this.#remoteWrites, [outcome], samples);
  }

  /** Counts runs with a trace to export by outcome. */
  countTraces(outcome: 'sent' | 'refused' | 'dropped', count: number): void {
    add(this.#traces, [outcome], count);
  }

  /** Counts tool calls over MCP. */
  countMcpCall(accountId: string, tool: string, outcome: 'done' | 'refused' | 'failed'): void {
    add(this.#mcpCalls, [accountId, tool, outcome], 1);
  }

  /** Counts unreadable stored values, and responses that differ from their schema. */
  countOddStored(kind: 'value' | 'answer', where: string): void {
    add(this.#oddStored, [kind, where], 1);
  }

  /** Counts rejections of connections for live results by reason. */
  countLiveRefusal(reason: string): void {
    add(this.#liveRefusals, [reason], 1);
  }

  /**
   * Metrics of one account, or of all, as Prometheus text. The operator needs the metrics of all most when the database
   * does not respond: in that case they contain what this process knows by itself.
   *
   * @throws AppError STORE_UNAVAILABLE or STORAGE_FULL for one account while the database does not respond.
   */
  async text(store: MeasuredStore, now: number, accountId?: string): Promise<string> {
    const read = async () => {
      const registry = new Registry();
      await registerStored([registry], { store, now, accountId });
      if (accountId !== undefined) return await registry.metrics();
      await registerSchedule([registry], store, now);
      if (this.domainProof) await registerDomains([registry], store, this.domainProof);
      const feed = this.clickHouse && (await store.fedResults.feed());
      this.clickHouse?.registerLag([registry], now, feed?.levelAt);
      return await registry.metrics();
    };
    const stored = accountId === undefined ? await this.#readings.read(read) : await read();
    const own = await this.#own(store, accountId, stored !== undefined);
    return stored === undefined ? own : `${own}\n${stored}`;
  }

  /** Metrics that this process knows without the database. */
  async #own(
    store: MeasuredStore,
    accountId: string | undefined,
    isStoreAvailable: boolean,
  ): Promise<string> {
    const registry = new Registry();
    const registers = [registry];
    setCounter({ registers, accountId }, this.#results, {
      name: 'picket_results_total',
      help: 'Results stored by this process',
      labelNames: ['account', 'location', 'verdict'],
    });
    setCounter({ registers, accountId }, this.#missed, {
      name: 'picket_missed_slots_total',
      help: 'Slots this process recorded as missed',
      labelNames: ['account', 'location', 'reason'],
    });
    setCounter({ registers, accountId }, this.#grouped, {
      name: 'picket_alerts_grouped_total',
      help: 'Failures of checks that joined the alert of another check with the same cause, at this process',
      labelNames: ['account', 'kind'],
    });
    setCounter({ registers, accountId }, this.#notifications, {
      name: 'picket_notifications_total',
      help: 'Notifications that this process finished, by channel type and outcome',
      labelNames: ['account', 'type', 'outcome'],
    });
    setCounter({ registers, accountId }, this.#mcpCalls, {
      name: 'picket_mcp_calls_total',
      help: 'Tool calls of language models at this process, by outcome; refused: the answer contains the reason',
      labelNames: ['account', 'tool', 'outcome'],
    });
    setCounter({ registers, accountId }, this.#deployments, {
      name: 'picket_deployments_total',
      help: 'Deployments of projects that this process finished, by outcome',
      labelNames: ['account', 'outcome'],
    });
    setCounter({ registers, accountId }, this.#analyses, {
      name: 'picket_root_cause_analyses_total',
      help: 'Root cause analyses that this process made, by how certain the cause is: certain, likely, open',
      labelNames: ['account', 'certainty'],
    });
    this.#model.register(registers, (account) => accountId === undefined || account === accountId);
    if (accountId === undefined) await this.#setOperators(registers, store, isStoreAvailable);
    return await registry.metrics();
  }

  /** Metrics that belong to no account. */
  async #setOperators(registers: Registry[], store: MeasuredStore, isStoreAvailable: boolean): Promise<void> {
    const available = new Gauge({
      name: 'picket_store_available',
      help: 'Whether this process could read its metrics from the database (1), or they are missing here (0)',
      registers,
    });
    available.set(isStoreAvailable ? 1 : 0);
    this.#setLogins(registers);
    this.#setOddStored(registers);
    this.#setLive(registers);
    this.#setTelemetry(registers);
    await registerProcess(registers, store, this.artifactStore);
    registerQueues(registers, this.queues);
    this.#setAnalytics(registers);
    this.clickHouse?.register(registers);
  }

  #setOddStored(registers: Registry[]): void {
    setCounter({ registers }, this.#oddStored, {
      name: 'picket_odd_stored_values_total',
      help: 'Stored values that this process could not read (value) or showed although they are outside the schema of the answer (answer), by column or route; the log says why',
      labelNames: ['kind', 'where'],
    });
  }

  #setLive(registers: Registry[]): void {
    const connections = new Gauge({
      name: 'picket_live_connections',
      help: 'Connections at this process that follow test sessions over MQTT',
      registers,
    });
    connections.set(this.liveConnections);
    setCounter({ registers }, this.#liveRefusals, {
      name: 'picket_live_refusals_total',
      help: 'Refusals of such connections by this process, by reason; slow-reader and too-many-connections cost clients results',
      labelNames: ['reason'],
    });
  }

  #setAnalytics(registers: Registry[]): void {
    if (!this.analytics) return;
    const available = new Gauge({
      name: 'picket_analytics_available',
      help: 'Whether the database answered the last query for a report or a chart (1) or not (0)',
      registers,
    });
    available.set(this.analytics.problem() === null ? 1 : 0);
  }

  #setTelemetry(registers: Registry[]): void {
    setCounter({ registers }, this.#traces, {
      name: 'picket_traces_total',
      help: 'Runs whose trace this process had to send, by outcome; dropped: the collector was unavailable for too long',
      labelNames: ['outcome'],
    });
    setCounter({ registers }, this.#remoteWrites, {
      name: 'picket_remote_write_samples_total',
      help: 'Samples this process had to write to its receiver, by outcome; dropped: the receiver was unavailable for too long',
      labelNames: ['outcome'],
    });
  }

  /** Belongs to no account, because the user of a failed login is unknown. */
  #setLogins(registers: Registry[]): void {
    setCounter({ registers }, this.#logins, {
      name: 'picket_logins_total',
      help: 'Logins at the pages of this process, by method; many refused ones indicate password guessing',
      labelNames: ['way', 'outcome'],
    });
  }
}

/** Exports the counts of `add`, with labels in order; if an account, the first label, is given, only its counts. */
function setCounter(
  { registers, accountId }: { readonly registers: Registry[]; readonly accountId?: string | undefined },
  counts: ReadonlyMap<string, number>,
  options: { readonly name: string; readonly help: string; readonly labelNames: readonly string[] },
): void {
  const counter = new Counter({ ...options, registers });
  for (const [key, count] of counts) {
    const values = JSON.parse(key) as string[];
    if (accountId !== undefined && values[0] !== accountId) continue;
    const labels = options.labelNames.map((name, index) => [name, values[index] ?? '']);
    counter.inc(Object.fromEntries(labels), count);
  }
}

function add(counts: Map<string, number>, labels: readonly string[], count: number): void {
  const key = JSON.stringify(labels);
  counts.set(key, (counts.get(key) ?? 0) + count);
}
