import {
  type ELDHistogram,
  type EventLoopUtilization,
  monitorEventLoopDelay,
  performance,
} from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Lane } from '../../checks/contract/check-type.ts';
import { type SicknessKind, sicknessKinds } from '../../protocol/locations/location-event.ts';
import type { ArtifactEnd } from '../delivery/artifacts/artifact-uploader.ts';
import { droppedResults } from '../delivery/spool/dropped-results.ts';
import type { SpoolState } from '../delivery/spool/spool.ts';
import type { Settlement } from '../delivery/upload.ts';
import type { Capabilities, RunFacts } from '../runners/worker-protocol.ts';

/** What the metrics read when somebody asks for them. */
export interface MetricsSource {
  readonly laneStates: () => readonly {
    readonly lane: Lane;
    readonly size: number;
    readonly running: number;
    readonly queued: number;
    readonly oldestQueuedMs: number;
  }[];
  readonly heldLeases: () => number;
  readonly artifacts: () => { readonly count: number; readonly sizeBytes: number };
  /** Results that wait to be sent, on disk or in memory. */
  readonly waitingResults: () => number;
  readonly spool: () => SpoolState;
  /** Parts of the location that are sick now. */
  readonly sicknesses: () => readonly SicknessKind[];
  readonly clockErrorMs: () => number;
  readonly wallSkewMs: () => number;
  readonly isConnected: () => boolean;
  readonly replacedThreads: () => number;
  readonly replacedScriptThreads: () => number;
  readonly gateState: () => { readonly waiting: number; readonly oldestWaitMs: number };
  /** How busy each probe thread was since the last call, 0 to 1. */
  readonly threadUtilizations: () => readonly number[];
  readonly capabilities: () => Capabilities;
}

const latenessBucketsSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 360];
const delayBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The agent's own numbers, for Prometheus. Durations are in seconds, as its conventions want. */
export class AgentMetrics {
  readonly #registry = new Registry();
  readonly #runs: Counter<'check_type' | 'verdict'>;
  readonly #lateness: Histogram;
  readonly #startDelay: Histogram;
  readonly #probeLag: Histogram;
  readonly #results: Counter<'settlement'>;
  readonly #doubtful: Counter<'check_type'>;
  readonly #spoilt: Counter<'check_type' | 'ending'>;
  readonly #artifacts: Counter<'end'>;
  readonly #claimErrors: Counter<'kind'>;
  readonly #eventLoopDelay: ELDHistogram;
  #utilization: EventLoopUtilization = performance.eventLoopUtilization();

  constructor(source: MetricsSource) {
    const registers = [this.#registry];
    this.#eventLoopDelay = monitorEventLoopDelay({ resolution: 20 });
    this.#runs = new Counter({
      name: 'picket_agent_runs_total',
      help: 'Finished runs',
      labelNames: ['check_type', 'verdict'],
      registers,
    });
    this.#lateness = new Histogram({
      name: 'picket_agent_lateness_seconds',
      help: 'From the time a run was due to the start of its probe',
      buckets: latenessBucketsSeconds,
      registers,
    });
    this.#startDelay = new Histogram({
      name: 'picket_agent_start_delay_seconds',
      help: 'From having the lease of a run to the start of its probe',
      buckets: delayBucketsSeconds,
      registers,
    });
    this.#probeLag = new Histogram({
      name: 'picket_agent_probe_lag_seconds',
      help: 'How late the probe thread was at most while a run was under way',
      buckets: delayBucketsSeconds,
      registers,
    });
    this.#results = new Counter({
      name: 'picket_agent_results_total',
      help: 'Results by what became of them',
      labelNames: ['settlement'],
      registers,
    });
    new Counter({
      name: 'picket_agent_results_dropped_total',
      help: 'Results dropped unsent: attempts and finals for want of room on disk, expired, or other (in memory, or while being sent)',
      labelNames: ['kind'],
      registers,
      collect() {
        this.reset();
        for (const [kind, count] of Object.entries(droppedResults(source.spool()))) this.inc({ kind }, count);
      },
    });
    this.#doubtful = new Counter({
      name: 'picket_agent_doubtful_timings_total',
      help: 'Runs whose times may be too long because the agent itself was late',
      labelNames: ['check_type'],
      registers,
    });
    this.#spoilt = new Counter({
      name: 'picket_agent_spoilt_runs_total',
      help: 'Runs that the agent may have spoilt by being late: recovered by a repetition, or starved',
      labelNames: ['check_type', 'ending'],
      registers,
    });
    new Gauge({
      name: 'picket_agent_check_type_info',
      help: 'Check types this agent knows, whether they work here, and by which backend; always 1',
      labelNames: ['check_type', 'available', 'backend'],
      registers,
      collect() {
        this.reset();
        const { loaded, backends, failed } = source.capabilities();
        for (const name of loaded) {
          this.set({ check_type: name, available: 'true', backend: backends[name] ?? '' }, 1);
        }
        for (const { name } of failed) this.set({ check_type: name, available: 'false', backend: '' }, 1);
      },
    });
    new Gauge({
      name: 'picket_agent_probe_thread_utilization',
      help: 'How much of its time a probe thread was at work since the last scrape',
      labelNames: ['thread'],
      registers,
      collect() {
        this.reset();
        source.threadUtilizations().forEach((part, thread) => {
          this.set({ thread: String(thread) }, part);
        });
      },
    });
    this.#artifacts = new Counter({
      name: 'picket_agent_artifacts_total',
      help: 'Artifacts by what became of them',
      labelNames: ['end'],
      registers,
    });
    this.#claimErrors = new Counter({
      name: 'picket_agent_service_errors_total',
      help: 'Calls to the service that failed',
      labelNames: ['kind'],
      registers,
    });
    const laneGauge = (
      name: string,
      help: string,
      read: (state: ReturnType<MetricsSource['laneStates']>[number]) => number,
    ) =>
      new Gauge({
        name,
        help,
        labelNames: ['lane'],
        registers,
        collect() {
          for (const state of source.laneStates()) this.set({ lane: state.lane }, read(state));
        },
      });
    laneGauge('picket_agent_lane_size', 'Runs that can be under way at the same time', (state) => state.size);
    laneGauge('picket_agent_lane_running', 'Runs under way', (state) => state.running);
    laneGauge('picket_agent_lane_queued', 'Leased runs that wait for their lane', (state) => state.queued);
    laneGauge(
      'picket_agent_lane_oldest_queued_seconds',
      'How long the oldest waiting run has waited',
      (state) => state.oldestQueuedMs / 1000,
    );
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    gauge('picket_agent_connected', '1 while the last claim succeeded', () => (source.isConnected() ? 1 : 0));
    gauge('picket_agent_held_leases', 'Leases the agent holds', source.heldLeases);
    gauge('picket_agent_waiting_results', 'Results that wait to be sent', source.waitingResults);
    gauge('picket_agent_spool_on_disk', '1 while results are kept on disk, 0 while in memory alone', () =>
      source.spool().mode === 'disk' ? 1 : 0,
    );
    gauge(
      'picket_agent_spool_bytes',
      'Size of the results on disk',
      () => source.spool().facts?.sizeBytes ?? 0,
    );
    gauge(
      'picket_agent_spool_memory_results',
      'Results that are in memory alone',
      () => source.spool().memoryCount,
    );
    gauge(
      'picket_agent_spool_damaged_parts',
      'Parts of the spool that could not be read since the start',
      () => source.spool().facts?.losses.damagedParts ?? 0,
    );
    gauge('picket_agent_artifacts_waiting', 'Artifacts that wait to be sent', () => source.artifacts().count);
    gauge('picket_agent_artifacts_bytes', 'How large they are', () => source.artifacts().sizeBytes);
    new Gauge({
      name: 'picket_agent_location_sick',
      help: '1 for each part of the location that the agent finds sick',
      labelNames: ['kind'],
      registers,
      collect() {
        this.reset();
        const sick = source.sicknesses();
        for (const kind of sicknessKinds) this.set({ kind }, sick.includes(kind) ? 1 : 0);
      },
    });
    gauge(
      'picket_agent_clock_skew_seconds',
      "How far this host's clock is ahead of the service's",
      () => source.wallSkewMs() / 1000,
    );
    gauge(
      'picket_agent_clock_error_seconds',
      "How far off the knowledge of the service's clock may be",
      () => source.clockErrorMs() / 1000,
    );
    gauge(
      'picket_agent_gate_waiting',
      'Runs that wait in the admission gates of the probe threads',
      () => source.gateState().waiting,
    );
    gauge(
      'picket_agent_gate_oldest_waiting_seconds',
      'How long the oldest of them has waited',
      () => source.gateState().oldestWaitMs / 1000,
    );
    gauge('picket_agent_replaced_threads', 'Probe threads that ended unexpectedly', source.replacedThreads);
    gauge(
      'picket_agent_replaced_script_threads',
      'Threads for scripts that ended unexpectedly',
      source.replacedScriptThreads,
    );
    gauge('picket_agent_event_loop_delay_p99_seconds', 'Main thread, since the last scrape', () => {
      const p99Seconds = this.#eventLoopDelay.percentile(99) / 1e9;
      this.#eventLoopDelay.reset();
      return p99Seconds;
    });
    gauge('picket_agent_event_loop_utilization', 'Main thread, since the last scrape', () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, this.#utilization);
      this.#utilization = now;
      return utilization;
    });
    gauge('picket_agent_resident_bytes', 'Memory of the process', () => process.memoryUsage.rss());
    gauge('picket_agent_cpu_seconds', 'CPU time of the process', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    });
  }

  start(): void {
    this.#eventLoopDelay.enable();
  }

  stop(): void {
    this.#eventLoopDelay.disable();
  }

  runFinished(facts: RunFacts, slotAtMs: number | undefined): void {
    this.#runs.inc({ check_type: facts.checkType, verdict: facts.verdict });
    if (facts.isTimingDoubtful) this.#doubtful.inc({ check_type: facts.checkType });
    if (facts.spoilt) this.#spoilt.inc({ check_type: facts.checkType, ending: facts.spoilt });
    if (slotAtMs === undefined) return;
    this.#lateness.observe(Math.max(0, facts.startedAtMs - slotAtMs) / 1000);
    this.#startDelay.observe(facts.startDelayMs / 1000);
    this.#probeLag.observe(facts.agentLagMs / 1000);
  }

  resultSettled(settlement: Settlement): void {
    this.#results.inc({ settlement });
  }

  artifactEnded(end: ArtifactEnd): void {
    this.#artifacts.inc({ end });
  }

  serviceFailed(kind: string): void {
    this.#claimErrors.inc({ kind });
  }

  /** The text Prometheus scrapes. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}
