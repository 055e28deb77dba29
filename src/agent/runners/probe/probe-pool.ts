import type { MessagePort } from 'node:worker_threads';
import { lifecycleAllowanceMs } from '@picket/checks/contract/lifecycle.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { agentBodyBytes } from '@picket/probes/http/body/body-memory.ts';
import { sealLimitMs } from '../../delivery/artifacts/run-artifacts.ts';
import type { Capabilities, Executor, FinishedRun, RunOrder } from '../../run/contracts.ts';
import { deadlineGraceMs } from '../../run/run-deadline.ts';
import type { StopSignal } from '../../run/run-stop.ts';
import { RunnerPool, type RunnerSettings } from '../threads/runner-pool.ts';
import { type RunnerThread, ThreadEnded } from '../threads/runner-thread.ts';
import type { ThreadAhead } from '../threads/thread-ahead.ts';
import { maxGateWaitMs } from './admission-gate.ts';
import { LoneRuns } from './lone-runs.ts';
import { defaultHeapMb, defaultThreadCount, probeWorkerEntry } from './probe-threads.ts';

/**
 * Allows for the runner's own deadline, its grace, its wait to start, and the preparation of its artifacts; after that
 * the thread counts as stuck.
 */
const stuckGraceMs = deadlineGraceMs + maxGateWaitMs + sealLimitMs.probe + 5000;
/** How long the isolated thread is kept without a run. */
const loneIdleMs = 60_000;
const loneRetryMs = 50;
/** A run that the agent's own lateness spoilt is repeated once. */
const maxTries = 2;
const restart = { shortLifeMs: 2000, immediateRestarts: 1, firstDelayMs: 250, maxDelayMs: 10_000 };

/**
 * Runs the probe lane. A run is assigned to the thread with the lowest load; runs that wait in its admission gate count
 * twice. The thread starts a run that it gets before its slot at that slot.
 */
export class ProbePool implements Executor {
  readonly #options: ProbePoolOptions;
  readonly #pool: RunnerPool;
  readonly #lone: LoneRuns;
  /** The thread for isolated runs, while there are any. */
  #lonePool: RunnerPool | undefined;
  #lonePoolIdle: NodeJS.Timeout | undefined;
  #loneCount = 0;
  #capabilities: Capabilities = { loaded: [], backends: {}, failed: [] };

  constructor(options: ProbePoolOptions) {
    this.#options = options;
    this.#pool = this.#newPool(() => options.onReady?.(), options.threadsAhead);
    this.#lone = new LoneRuns({
      log: options.log,
      run: (order, signal) => this.#runLone(order, signal),
      nowMs: () => options.clock.monotonicMs(),
      isStopping: () => this.#pool.isStopping,
    });
  }

  #newPool(onReady: () => void, ahead?: readonly ThreadAhead[]): RunnerPool {
    const options = this.#options;
    return new RunnerPool({
      settings: options,
      name: 'probe',
      entry: probeWorkerEntry,
      ahead,
      maxHeapMb: options.maxHeapMb ?? defaultHeapMb(),
      restart,
      start: () => ({
        caCertificates: options.caCertificates?.(),
        bodyMemoryBytes: agentBodyBytes / this.#wantedThreads,
      }),
      onStarted: (thread) => this.#connectLifecycleScripts(thread),
      onReady,
    });
  }

  /** Starts all threads; resolves with the capabilities that they share. */
  async start(): Promise<Capabilities> {
    const threads = this.#pool.start(this.#wantedThreads);
    const all = await Promise.all(threads.map((thread) => thread.ready));
    const failed = all.flatMap((capabilities) => capabilities.failed);
    const backends = Object.assign({}, ...all.map((capabilities) => capabilities.backends));
    this.#capabilities = {
      loaded: (all[0]?.loaded ?? []).filter((name) => !failed.some((other) => other.name === name)),
      backends: backends as Capabilities['backends'],
      failed: [...new Map(failed.map((one) => [one.name, one])).values()],
    };
    return this.#capabilities;
  }

  get #wantedThreads(): number {
    return this.#options.threadCount ?? defaultThreadCount();
  }

  /** Names of the check types that loaded. */
  get checkTypes(): readonly string[] {
    return this.#capabilities.loaded;
  }

  /** Check types that the threads can run, and why others are missing. */
  get capabilities(): Capabilities {
    return this.#capabilities;
  }

  /** Number of runs in the admission gates of all threads, and the longest wait. */
  get gateState(): { readonly waiting: number; readonly oldestWaitMs: number } {
    const nowMs = this.#options.clock.monotonicMs();
    const gates = [...this.#pool.threads].map(({ gate }) => gate);
    return {
      waiting: gates.reduce((sum, { waitingCount }) => sum + waitingCount, 0),
      oldestWaitMs: Math.max(0, ...gates.map((gate) => gate.oldestWaitMs(nowMs))),
    };
  }

  /** Utilization of each thread's event loop since the last call. */
  utilizations(): number[] {
    return [...this.#pool.threads].map((thread) => thread.utilization());
  }

  get threadCount(): number {
    return this.#pool.threads.size;
  }

  readonly startsAtSlot = true;

  /** Whether some thread has loaded its runners. */
  get isReady(): boolean {
    return this.#pool.isReady;
  }

  get replacedCount(): number {
    return this.#pool.replacedCount;
  }

  /**
   * Runs one order in some thread; again, in isolation, if that thread ended meanwhile.
   *
   * @throws ThreadEnded if the pool stops, and RunCrashes if the run ended a thread that it had to itself.
   */
  async run(order: RunOrder, signal: StopSignal): Promise<FinishedRun> {
    if (this.#lone.isCulprit(order)) return await this.#lone.run(order, signal);
    let chosen: RunnerThread | undefined;
    let leastLoad = Number.POSITIVE_INFINITY;
    const isOnOneThread = findCheckType(order.checkType)?.isOnOneThread;
    for (const thread of this.#pool.threads) {
      const load = thread.runningCount + thread.gate.waitingCount;
      if (load < leastLoad) [chosen, leastLoad] = [thread, load];
      if (isOnOneThread) break;
    }
    if (!chosen) throw new ThreadEnded('no probe thread is running');
    try {
      return await chosen.run(order, this.#overdueAtMs(order), signal);
    } catch (thrown) {
      if (!(thrown instanceof ThreadEnded) || signal.aborted || this.#pool.isStopping) throw thrown;
      return await this.#lone.run(order, signal);
    }
  }

  #overdueAtMs(order: RunOrder): number {
    const ownMs = order.timeoutMs ?? findCheckType(order.checkType)?.timeoutMs ?? 0;
    const timeoutMs = ownMs + lifecycleAllowanceMs(order.input.lifecycle);
    const startsAtMs = Math.max(this.#options.clock.monotonicMs(), order.receivedAtMs);
    return startsAtMs + maxTries * timeoutMs + stuckGraceMs;
  }

  /** Runs an order in a thread outside of the pool, which is kept for a while after the last one. */
  async #runLone(order: RunOrder, signal: StopSignal): Promise<FinishedRun> {
    clearTimeout(this.#lonePoolIdle);
    this.#loneCount += 1;
    try {
      const thread = await this.#loneThread();
      return await thread.run(order, this.#overdueAtMs(order), signal);
    } finally {
      this.#loneCount -= 1;
      if (this.#loneCount === 0) {
        this.#lonePoolIdle = setTimeout(() => void this.#stopLonePool(), loneIdleMs).unref();
      }
    }
  }

  /** Returns a loaded thread: one that died while loading is not the fault of a run. */
  async #loneThread(): Promise<RunnerThread> {
    while (!this.#pool.isStopping) {
      if (!this.#lonePool) {
        this.#lonePool = this.#newPool(() => undefined);
        this.#lonePool.start(1);
      }
      const [thread] = this.#lonePool.threads;
      const isReady = await thread?.ready.then(
        () => true,
        () => false,
      );
      if (thread && isReady) return thread;
      await this.#options.clock.sleep(loneRetryMs);
    }
    throw new ThreadEnded('the agent stops');
  }

  async #stopLonePool(): Promise<void> {
    clearTimeout(this.#lonePoolIdle);
    const pool = this.#lonePool;
    this.#lonePool = undefined;
    await pool?.stop();
  }

  /** Connects every thread with the script thread after that has restarted. */
  connectLifecycleScripts(): void {
    for (const pool of [this.#pool, this.#lonePool]) {
      for (const thread of pool?.threads ?? []) this.#connectLifecycleScripts(thread);
    }
  }

  #connectLifecycleScripts(thread: RunnerThread): void {
    const port = this.#options.lifecycleScriptPort?.();
    if (port) thread.connectLifecycleScripts(port);
  }

  /** Returns waiting runs, marked `isUnstarted`. */
  withdrawWaiting(): void {
    for (const pool of [this.#pool, this.#lonePool]) {
      for (const thread of pool?.threads ?? []) thread.withdrawWaiting();
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#pool.stop(), this.#stopLonePool()]);
  }
}

export interface ProbePoolOptions extends RunnerSettings {
  /** Called whenever a thread becomes ready. */
  readonly onReady?: (() => void) | undefined;
  /** Custom CA certificates that runs trust, as PEM texts; read when a thread starts. */
  readonly caCertificates?: (() => readonly string[]) | undefined;
  /** A port to the script thread, while it runs. */
  readonly lifecycleScriptPort?: (() => MessagePort | undefined) | undefined;
  /** Threads that are already loading, with the default heap size. */
  readonly threadsAhead?: readonly ThreadAhead[] | undefined;
  readonly threadCount?: number | undefined;
  readonly maxHeapMb?: number | undefined;
}
