import { checkTypes } from '@picket/checks/index.ts';
import type { ModelOutcome } from '@picket/checks/model/client.ts';
import { type Clock, waitAtMost } from '@picket/lib/clock.ts';
import { errorCodeOf } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { defaultEgressSettings, type EgressSettings } from '@picket/probes/egress/policy.ts';
import { endWithoutNativeLoads } from '@picket/probes/sys/native-loads.ts';
import type { DependencyUsage } from '@picket/sandbox/suites/dependency-cache.ts';
import type { Capabilities, LinesOfRun } from '../../run/contracts.ts';
import { type HangLimits, RunnerThread } from './runner-thread.ts';
import type { ThreadAhead } from './thread-ahead.ts';
import type { WorkerStart } from './worker-protocol.ts';

const watchIntervalMs = 1000;
/** Part of the free places of a lane that finished runs may keep for a moment. */
const sparePart = 1 / 4;
const allNames = checkTypes.map(({ name }) => name);

/** Settings of every thread that runs checks, whatever its lane. */
export interface RunnerSettings extends Pick<WorkerStart, 'ownSecrets' | 'kerberos'> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Names of the check types to load; defaults to all. */
  readonly checkTypes?: readonly string[] | undefined;
  /** Current offset from `monotonicMs` to the service's time. */
  readonly serviceOffsetMs: () => number;
  /** Addresses that runs may connect to, read when a thread starts; defaults to the standard policy. */
  readonly egress?: (() => EgressSettings) | undefined;
  /** Folder for artifacts, read for each run; runs keep none if absent. */
  readonly artifactFolder?: (() => string | undefined) | undefined;
  /** How many more runs the lane has room for; reports are sent at once if absent. */
  readonly roomForRuns?: (() => number) | undefined;
  /** Called before runs start that are late because the process was stopped: their leases may be lost. */
  readonly onLate?: (() => void) | undefined;
  /** Another program for the threads, with the same messages. */
  readonly entry?: URL | undefined;
  /** When a thread counts as hanging; a default applies if absent. */
  readonly hang?: HangLimits | undefined;
}

/** How soon a thread that ended is replaced: at once, until too many in a row were short-lived; then with back-off. */
export interface RestartPolicy {
  /** A thread that lived for less than this was short-lived. */
  readonly shortLifeMs: number;
  /** Short-lived threads in a row that are replaced at once. */
  readonly immediateRestarts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

export interface RunnerPoolOptions {
  readonly settings: RunnerSettings;
  /** For logs and thread listings. */
  readonly name: 'probe' | 'scripts';
  /** The program of a thread, unless the settings name another. */
  readonly entry: URL;
  readonly maxHeapMb: number;
  /** Threads that are already loading; they become the first ones of the pool. */
  readonly ahead?: readonly ThreadAhead[] | undefined;
  readonly restart: RestartPolicy;
  /** Start parameters of this lane in addition to the settings, read when a thread starts. */
  readonly start: () => Partial<WorkerStart>;
  readonly onStarted?: (thread: RunnerThread) => void;
  readonly onReady: (thread: RunnerThread, capabilities: Capabilities) => void;
  readonly onEnded?: (reason: string) => void;
  readonly onModelAsked?: ((outcome: ModelOutcome) => void) | undefined;
  readonly onLiveLog?: ((runs: readonly LinesOfRun[]) => void) | undefined;
  readonly onSuitePackages?: ((usage: DependencyUsage) => void) | undefined;
}

/**
 * Supervises the threads of a lane: starts them, ends those that hang, replaces those that ended.
 *
 * STARTING: a thread loads its runners. → READY when it has reported its capabilities. → ENDED when it dies, or is
 * ended because a run is long overdue; its runs reject with ThreadEnded. → STARTING: another thread replaces it, after
 * the delay of the restart policy. `stop` ends all threads from any state and starts none.
 */
export class RunnerPool {
  readonly #options: RunnerPoolOptions;
  readonly #threads = new Set<RunnerThread>();
  readonly #ready = new Set<RunnerThread>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  readonly #ahead: ThreadAhead[];
  #watch: NodeJS.Timeout | undefined;
  #isStopping = false;
  #replacedCount = 0;
  #shortLives = 0;

  constructor(options: RunnerPoolOptions) {
    this.#options = options;
    this.#ahead = [...(options.ahead ?? [])];
  }

  start(threadCount: number): RunnerThread[] {
    this.#watch = setInterval(() => this.#endStuckThreads(), watchIntervalMs).unref();
    return Array.from({ length: threadCount }, () => this.#startThread());
  }

  /** The threads that have not ended. */
  get threads(): ReadonlySet<RunnerThread> {
    return this.#threads;
  }

  get isReady(): boolean {
    return this.#ready.size > 0;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** How many threads were replaced since the start. */
  get replacedCount(): number {
    return this.#replacedCount;
  }

  /** Short-lived threads in a row. */
  get shortLives(): number {
    return this.#shortLives;
  }

  /** @param closeMs how long threads may take to clean up before they are terminated. */
  async stop(closeMs = 0): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#watch);
    for (const timer of this.#restarts) clearTimeout(timer);
    const threads = [...this.#threads];
    const { clock } = this.#options.settings;
    if (closeMs > 0) await Promise.all(threads.map((thread) => waitAtMost(clock, thread.close(), closeMs)));
    await endWithoutNativeLoads(() =>
      Promise.all(threads.map((thread) => thread.terminate('the agent stops'))),
    );
  }

  #startThread(): RunnerThread {
    const { name, entry, maxHeapMb, settings } = this.#options;
    const startedAtMs = settings.clock.monotonicMs();
    const thread: RunnerThread = new RunnerThread({
      name,
      entry: settings.entry ?? entry,
      ahead: this.#ahead.shift(),
      start: {
        ownSecrets: settings.ownSecrets,
        checkTypes: settings.checkTypes ?? allNames,
        egress: settings.egress?.() ?? defaultEgressSettings,
        kerberos: settings.kerberos,
        ...this.#options.start(),
      },
      maxHeapMb,
      situation: () => ({
        serviceOffsetMs: settings.serviceOffsetMs(),
        artifactFolder: settings.artifactFolder?.(),
        spareRuns: Math.floor(((settings.roomForRuns?.() ?? 0) * sparePart) / this.#threads.size),
      }),
      onLate: settings.onLate,
      onChanged: (capabilities) => this.#options.onReady(thread, capabilities),
      onModelAsked: this.#options.onModelAsked,
      onLiveLog: this.#options.onLiveLog,
      onSuitePackages: this.#options.onSuitePackages,
    });
    this.#threads.add(thread);
    this.#options.onStarted?.(thread);
    void thread.ready.then(
      (capabilities) => {
        if (!this.#threads.has(thread)) return;
        this.#ready.add(thread);
        this.#options.onReady(thread, capabilities);
      },
      () => undefined, // it ended while loading, which `ended` reports
    );
    void thread.ended.then((reason) => this.#replace(thread, reason, startedAtMs));
    return thread;
  }

  #replace(thread: RunnerThread, reason: string, startedAtMs: number): void {
    this.#threads.delete(thread);
    this.#ready.delete(thread);
    this.#options.onEnded?.(reason);
    if (this.#isStopping) return;
    const { restart, name, settings } = this.#options;
    this.#replacedCount++;
    const isShortLife = settings.clock.monotonicMs() - startedAtMs < restart.shortLifeMs;
    this.#shortLives = isShortLife ? this.#shortLives + 1 : 0;
    const backOffs = this.#shortLives - restart.immediateRestarts;
    const delayMs =
      backOffs <= 0 ? 0 : Math.min(restart.maxDelayMs, restart.firstDelayMs * 2 ** (backOffs - 1));
    settings.log.error({ thread: name, reason, delayMs }, 'check thread ended unexpectedly and is replaced');
    if (delayMs === 0) {
      this.#startThread();
      return;
    }
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      this.#startThread();
    }, delayMs);
    this.#restarts.add(timer);
  }

  #endStuckThreads(): void {
    const nowMs = this.#options.settings.clock.monotonicMs();
    for (const thread of this.#threads) {
      if (thread.isStuck(nowMs)) void thread.terminate('it stopped responding');
      else void this.#endIfHanging(thread, nowMs);
    }
  }

  async #endIfHanging(thread: RunnerThread, nowMs: number): Promise<void> {
    try {
      if (await thread.isHanging(nowMs, this.#options.settings.hang))
        await thread.terminate('it hung in one run');
    } catch (thrown) {
      // It ended during the query.
      if (errorCodeOf(thrown) !== 'ERR_WORKER_NOT_RUNNING') throw thrown;
    }
  }
}
