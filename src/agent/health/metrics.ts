import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import type { Lane } from '@picket/checks/contract/check-type.ts';
import type { ModelTotals } from '@picket/checks/model/totals.ts';
import { type UnhealthyKind, unhealthyKinds } from '@picket/protocol/locations/location-event.ts';
import type { DependencyUsage } from '@picket/sandbox/suites/dependency-cache.ts';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ServiceClock } from '../client/service-clock.ts';
import type { ArtifactEnd } from '../delivery/artifacts/artifact-uploader.ts';
import type { SpoolState } from '../delivery/spool/spool-options.ts';
import type { Settlement } from '../delivery/upload.ts';
import type { ReferenceState } from '../references/secret-references.ts';
import type { Capabilities, RunFacts } from '../run/contracts.ts';
import type { ProbePool } from '../runners/probe/probe-pool.ts';
import { collectProcessMetrics } from './process-metrics.ts';

interface LaneState {
  readonly lane: Lane;
  readonly size: number;
  readonly running: number;
  readonly queued: number;
  readonly oldestQueuedMs: number;
}

/** Values that the metrics read at each scrape. */
export interface MetricsSource {
  readonly laneStates: () => readonly LaneState[];
  readonly heldLeases: () => number;
  readonly artifacts: () => { readonly count: number; readonly sizeBytes: number };
  /** Results waiting to be sent, on disk or in memory. */
  readonly waitingResults: () => number;
  readonly spool: () => SpoolState;
  /** Parts of the location that are unhealthy now. */
  readonly unhealthyParts: () => readonly UnhealthyKind[];
  readonly serviceClock: Pick<ServiceClock, 'errorMs' | 'wallSkewMs'>;
  readonly isConnected: () => boolean;
  readonly isDraining: () => boolean;
  readonly probes: Pick<ProbePool, 'replacedCount' | 'gateState' | 'utilizations'>;
  readonly replacedScriptThreads: () => number;
  readonly capabilities: () => Capabilities;
  /** Use of the packages that suites installed. */
  readonly suitePackages: () => DependencyUsage;
  /** Totals of the requests to the model. */
  readonly model: ModelTotals;
  /** Secrets whose values live elsewhere. */
  readonly secrets: () => readonly ReferenceState[];
  /** Refused runs of checks that are not signed with a trusted key, by reason. */
  readonly refusals: () => ReadonlyMap<string, number>;
}

const latenessBucketsSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 360];
const delayBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** One number each, read at the scrape: current values. */
const gauges: readonly (readonly [name: string, help: string, read: (source: MetricsSource) => number])[] = [
  ['connected', '1 while the last claim succeeded', ({ isConnected }) => Number(isConnected())],
  ['draining', '1 while the location drains this agent', ({ isDraining }) => Number(isDraining())],
  ['held_leases', 'Leases the agent holds', ({ heldLeases }) => heldLeases()],
  ['waiting_results', 'Results waiting to be sent', ({ waitingResults }) => waitingResults()],
  [
    'spool_on_disk',
    '1 while results are stored on disk, 0 while in memory only',
    ({ spool }) => Number(spool().mode === 'disk'),
  ],
  ['spool_bytes', 'Size of the results on disk', ({ spool }) => spool().facts?.sizeBytes ?? 0],
  ['spool_memory_results', 'Results held only in memory', ({ spool }) => spool().memoryCount],
  ['artifacts_waiting', 'Artifacts waiting to be sent', ({ artifacts }) => artifacts().count],
  ['artifacts_bytes', 'Size of the artifacts waiting to be sent', ({ artifacts }) => artifacts().sizeBytes],
  [
    'suite_packages_bytes',
    'Size of the installed packages that are kept for suites; SUITE_CACHE_MAX_BYTES limits it',
    ({ suitePackages }) => suitePackages().sizeBytes,
  ],
  [
    'clock_skew_seconds',
    'Offset of the host clock from the clock of the service; positive: ahead',
    ({ serviceClock }) => serviceClock.wallSkewMs / 1000,
  ],
  [
    'clock_error_seconds',
    'Uncertainty of the estimated clock of the service',
    ({ serviceClock }) => serviceClock.errorMs / 1000,
  ],
  [
    'gate_waiting',
    'Runs waiting in the admission gates of the probe threads',
    ({ probes }) => probes.gateState.waiting,
  ],
  [
    'gate_oldest_waiting_seconds',
    'Waiting time of the oldest of these runs',
    ({ probes }) => probes.gateState.oldestWaitMs / 1000,
  ],
];

const laneGauges: readonly (readonly [name: string, help: string, read: (state: LaneState) => number])[] = [
  ['lane_size', 'Maximum concurrent runs', ({ size }) => size],
  ['lane_running', 'Runs in progress', ({ running }) => running],
  ['lane_queued', 'Leased runs waiting for their lane', ({ queued }) => queued],
  [
    'lane_oldest_queued_seconds',
    'Waiting time of the oldest waiting run',
    ({ oldestQueuedMs }) => oldestQueuedMs / 1000,
  ],
];

/** Counted elsewhere since the start, read at the scrape. */
const readCounters: readonly (readonly [
  name: string,
  help: string,
  read: (source: MetricsSource) => number,
])[] = [
  [
    'spool_damaged_parts_total',
    'Parts of the spool that could not be read',
    ({ spool }) => spool().facts?.losses.damagedParts ?? 0,
  ],
  [
    'suite_packages_hits_total',
    'Runs of suites that used packages of an earlier run',
    ({ suitePackages }) => suitePackages().hitCount,
  ],
  [
    'suite_packages_misses_total',
    'Installations of packages for suites',
    ({ suitePackages }) => suitePackages().missCount,
  ],
  ['replaced_threads_total', 'Probe threads that ended unexpectedly', ({ probes }) => probes.replacedCount],
  [
    'replaced_script_threads_total',
    'Threads for scripts that ended unexpectedly',
    ({ replacedScriptThreads }) => replacedScriptThreads(),
  ],
];

/** The agent's own metrics, and those of its process, for Prometheus. Durations are in seconds, by its conventions. */
export class AgentMetrics {
  readonly #registry = new Registry();
  readonly #runs = this.#counter('runs', 'Finished runs', ['check_type', 'verdict']);
  readonly #results = this.#counter('results', 'Results by outcome', ['settlement']);
  readonly #artifacts = this.#counter('artifacts', 'Artifacts by outcome', ['end']);
  readonly #serviceErrors = this.#counter('service_errors', 'Failed calls to the service', ['kind']);
  readonly #secretFetches = this.#counter('secret_fetches', 'Fetches of secrets by outcome', [
    'provider',
    'outcome',
  ]);
  readonly #doubtful = this.#counter(
    'doubtful_timings',
    'Runs whose times may be too long because the agent itself was late',
    ['check_type'],
  );
  readonly #spoilt = this.#counter(
    'spoilt_runs',
    'Runs that may have failed because the agent was late: recovered by a repetition, or starved',
    ['check_type', 'ending'],
  );
  readonly #lateness = this.#histogram(
    'lateness_seconds',
    'Time from the due time of a run to the start of its probe',
    latenessBucketsSeconds,
  );
  readonly #startDelay = this.#histogram(
    'start_delay_seconds',
    'Time from the lease of a run to the start of its probe',
    delayBucketsSeconds,
  );
  readonly #probeLag = this.#histogram(
    'probe_lag_seconds',
    'Maximum lag of the probe thread during a run',
    delayBucketsSeconds,
  );

  constructor(source: MetricsSource) {
    collectProcessMetrics(this.#registry);
    this.#addTables(source);
    this.#addLabelled(source);
    this.#addEventLoopUtilization();
    source.model.register([this.#registry]);
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

  /** A fetch of secrets ended. */
  secretFetched(provider: string, outcome: 'ok' | 'failed'): void {
    this.#secretFetches.inc({ provider, outcome });
  }

  artifactEnded(end: ArtifactEnd): void {
    this.#artifacts.inc({ end });
  }

  serviceFailed(kind: string): void {
    this.#serviceErrors.inc({ kind });
  }

  /** The text that Prometheus scrapes. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({
      name: `picket_agent_${name}_total`,
      help,
      labelNames,
      registers: [this.#registry],
    });
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name: `picket_agent_${name}`, help, buckets, registers: [this.#registry] });
  }

  /** A gauge that `collect` refills at each scrape. */
  #gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    collect: (gauge: Gauge<Label>) => void,
  ): void {
    new Gauge<Label>({
      name: `picket_agent_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        collect(this);
      },
    });
  }

  #addTables(source: MetricsSource): void {
    for (const [name, help, read] of gauges) {
      this.#gauge(name, help, [], (gauge) => gauge.set(read(source)));
    }
    for (const [name, help, read] of laneGauges) {
      this.#gauge(name, help, ['lane'], (gauge) => {
        for (const state of source.laneStates()) gauge.set({ lane: state.lane }, read(state));
      });
    }
    for (const [name, help, read] of readCounters) {
      new Counter({
        name: `picket_agent_${name}`,
        help,
        registers: [this.#registry],
        collect() {
          this.reset();
          this.inc(read(source));
        },
      });
    }
  }

  #addLabelled(source: MetricsSource): void {
    new Counter({
      name: 'picket_agent_results_dropped_total',
      help: 'Results dropped unsent: attempts and finals because the disk is full, expired, or other (in memory, or while being sent)',
      labelNames: ['kind'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [kind, count] of Object.entries(source.spool().dropped)) this.inc({ kind }, count);
      },
    });
    new Counter({
      name: 'picket_agent_refused_runs_total',
      help: 'Runs refused because the check is not signed with a key in TRUSTED_KEYS, by reason',
      labelNames: ['reason'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [reason, count] of source.refusals()) this.inc({ reason }, count);
      },
    });
    this.#gauge(
      'check_type_info',
      'Check types of the agent, whether they work on this host, and their backend; always 1',
      ['check_type', 'available', 'backend'],
      (gauge) => {
        const { loaded, backends, failed } = source.capabilities();
        for (const name of loaded) {
          gauge.set({ check_type: name, available: 'true', backend: backends[name] ?? '' }, 1);
        }
        for (const { name } of failed) gauge.set({ check_type: name, available: 'false', backend: '' }, 1);
      },
    );
    this.#gauge(
      'probe_thread_utilization',
      'Share of time that a probe thread was busy since the last scrape',
      ['thread'],
      (gauge) => {
        for (const [thread, part] of source.probes.utilizations().entries()) {
          gauge.set({ thread: String(thread) }, part);
        }
      },
    );
    const secretLabels = ['name', 'provider'];
    this.#gauge('secret_available', '1 while runs can use the secret', secretLabels, (gauge) => {
      for (const { name, provider, isAvailable } of source.secrets())
        gauge.set({ name, provider }, Number(isAvailable));
    });
    this.#gauge(
      'secret_age_seconds',
      'Time since the last successful fetch of the secret; absent before the first',
      secretLabels,
      (gauge) => {
        for (const { name, provider, ageMs } of source.secrets()) {
          if (ageMs !== null) gauge.set({ name, provider }, ageMs / 1000);
        }
      },
    );
    this.#gauge('location_sick', '1 for each unhealthy part of the location', ['kind'], (gauge) => {
      const unhealthy = source.unhealthyParts();
      for (const kind of unhealthyKinds) gauge.set({ kind }, unhealthy.includes(kind) ? 1 : 0);
    });
  }

  #addEventLoopUtilization(): void {
    let last: EventLoopUtilization = performance.eventLoopUtilization();
    this.#gauge('event_loop_utilization', 'Main thread, since the last scrape', [], (gauge) => {
      const now = performance.eventLoopUtilization();
      gauge.set(performance.eventLoopUtilization(now, last).utilization);
      last = now;
    });
  }
}
