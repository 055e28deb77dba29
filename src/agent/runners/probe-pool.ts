import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { lifecycleAllowanceMs } from '../../checks/contract/lifecycle.ts';
import { checkTypes, findCheckType } from '../../checks/index.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { defaultEgressSettings, type EgressSettings } from '../../probes/egress/policy.ts';
import { sealLimitMs } from '../delivery/artifacts/run-artifacts.ts';
import { deadlineGraceMs } from '../run/run-deadline.ts';
import { maxGateWaitMs } from './admission-gate.ts';
import { RunnerThread, ThreadEnded } from './runner-thread.ts';
import type { Capabilities, FinishedRun, RunOrder } from './worker-protocol.ts';

/** Where a probe thread begins. */
export const probeWorkerEntry = new URL(`./probe-worker${extname(import.meta.url)}`, import.meta.url);

const allNames = checkTypes.map(({ name }) => name);
const watchIntervalMs = 1000;
/**
 * Beyond the runner's own deadline, its grace, what it may wait for its start, and the making of its artifacts: then it is the
 * thread that hangs.
 */
const stuckGraceMs = deadlineGraceMs + maxGateWaitMs + sealLimitMs.probe + 5000;
/** A run that the agent spoilt by being late is repeated once. */
const maxTries = 2;
/** Threads that die one after the other sooner than this after their start are not replaced at once. */
const shortLifeMs = 2000;
const replaceDelayMs = 250;
const maxReplaceDelayMs = 10_000;

/** Half of the cores for probes, one at least: the main thread, scripts and the kernel need the others. */
export function defaultThreadCount(): number {
  return Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)));
}

/**
 * The probe threads. A run goes to the thread with the least to do, where what waits in its admission gate counts twice;
 * a thread that dies or hangs is replaced, and the
 * runs it had reject with ThreadEnded.
 */
export class ProbePool {
  readonly #options: ProbePoolOptions;
  readonly #threads = new Set<RunnerThread>();
  readonly #ready = new Set<RunnerThread>();
  #watch: NodeJS.Timeout | undefined;
  #isStopping = false;
  #replacedCount = 0;
  #shortLives = 0;
  #capabilities: Capabilities = { loaded: [], backends: {}, failed: [] };

  constructor(options: ProbePoolOptions) {
    this.#options = options;
  }

  /** Starts all threads; resolves with what every one of them can run. */
  async start(): Promise<Capabilities> {
    const count = this.#options.threadCount ?? defaultThreadCount();
    const threads = Array.from({ length: count }, () => this.#startThread());
    this.#watch = setInterval(() => this.#endStuckThreads(), watchIntervalMs);
    this.#watch.unref();
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

  /** Names of the check types that loaded. */
  get checkTypes(): readonly string[] {
    return this.#capabilities.loaded;
  }

  /** What the threads can run, and why not the rest. */
  get capabilities(): Capabilities {
    return this.#capabilities;
  }

  /** What waits in the admission gates of all threads, and how long the oldest has. */
  get gateState(): { readonly waiting: number; readonly oldestWaitMs: number } {
    const nowMs = this.#options.clock.monotonicMs();
    const gates = [...this.#threads].map(({ gate }) => gate);
    return {
      waiting: gates.reduce((sum, { waitingCount }) => sum + waitingCount, 0),
      oldestWaitMs: Math.max(0, ...gates.map((gate) => gate.oldestWaitMs(nowMs))),
    };
  }

  /** How busy the event loop of each thread was since the last call. */
  utilizations(): number[] {
    return [...this.#threads].map((thread) => thread.utilization());
  }

  get threadCount(): number {
    return this.#threads.size;
  }

  /** Whether a thread is there that has loaded its runners. */
  get isReady(): boolean {
    return this.#ready.size > 0;
  }

  /** How many threads had to be replaced since the start. */
  get replacedCount(): number {
    return this.#replacedCount;
  }

  /**
   * Runs one order in some thread.
   *
   * @throws ThreadEnded when the thread died or was ended before the run was done.
   */
  async run(order: RunOrder, signal: AbortSignal): Promise<FinishedRun> {
    let chosen: RunnerThread | undefined;
    let leastLoad = Number.POSITIVE_INFINITY;
    for (const thread of this.#threads) {
      const load = thread.runningCount + thread.gate.waitingCount;
      if (load < leastLoad) [chosen, leastLoad] = [thread, load];
    }
    if (!chosen) throw new ThreadEnded('no probe thread is running');
    const ownMs = order.timeoutMs ?? findCheckType(order.checkType)?.timeoutMs ?? 0;
    const timeoutMs = ownMs + lifecycleAllowanceMs(order.lifecycle);
    return await chosen.run(
      order,
      this.#options.clock.monotonicMs() + maxTries * timeoutMs + stuckGraceMs,
      signal,
    );
  }

  /** Gives every thread a line to the thread for scripts, when that has begun anew. */
  connectPhases(): void {
    for (const thread of this.#threads) this.#connectPhases(thread);
  }

  #connectPhases(thread: RunnerThread): void {
    const port = this.#options.phasePort?.();
    if (port) thread.connectPhases(port);
  }

  /** Has runs that wait for their start come back, marked `isUnstarted`. */
  withdrawWaiting(): void {
    for (const thread of this.#threads) thread.withdrawWaiting();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#watch);
    await Promise.all([...this.#threads].map((thread) => thread.terminate('the agent stops')));
  }

  #startThread(): RunnerThread {
    const startedAtMs = this.#options.clock.monotonicMs();
    const thread = new RunnerThread({
      name: 'probe',
      entry: this.#options.entry ?? probeWorkerEntry,
      start: {
        ownSecrets: this.#options.ownSecrets,
        checkTypes: this.#options.checkTypes ?? allNames,
        egress: this.#options.egress?.() ?? defaultEgressSettings,
        caCertificates: this.#options.caCertificates?.(),
      },
      maxHeapMb: this.#options.maxHeapMb ?? defaultHeapMb(),
      situation: () => ({
        serviceOffsetMs: this.#options.serviceOffsetMs(),
        artifactFolder: this.#options.artifactFolder?.(),
      }),
    });
    this.#threads.add(thread);
    this.#connectPhases(thread);
    void thread.ready.then(
      () => {
        this.#ready.add(thread);
        this.#options.onReady?.();
      },
      () => undefined, // it ended while loading, which `ended` tells
    );
    void thread.ended.then((reason) => this.#replace(thread, reason, startedAtMs));
    return thread;
  }

  #replace(thread: RunnerThread, reason: string, startedAtMs: number): void {
    this.#threads.delete(thread);
    this.#ready.delete(thread);
    if (this.#isStopping) return;
    this.#replacedCount++;
    this.#options.log.error(
      { reason },
      'a probe thread ended unexpectedly and is replaced; its runs are reported',
    );
    const isShortLife = this.#options.clock.monotonicMs() - startedAtMs < shortLifeMs;
    this.#shortLives = isShortLife ? this.#shortLives + 1 : 0;
    if (this.#shortLives <= 1) {
      this.#startThread();
      return;
    }
    setTimeout(
      () => {
        if (!this.#isStopping) this.#startThread();
      },
      Math.min(maxReplaceDelayMs, replaceDelayMs * 2 ** (this.#shortLives - 2)),
    );
  }

  #endStuckThreads(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const thread of this.#threads) {
      if (thread.isStuck(nowMs)) void thread.terminate('it did not answer any more');
    }
  }
}

export interface ProbePoolOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Secrets removed from every report: the agent's key and the `SERVICE_SECRET_*` values. */
  readonly ownSecrets: readonly string[];
  /** Names of the check types to load; all when absent. */
  readonly checkTypes?: readonly string[] | undefined;
  /** What to add to `monotonicMs` to get the service's time, as known now. */
  readonly serviceOffsetMs: () => number;
  /** Where runs may connect to, asked when a thread starts; the default policy when absent. */
  readonly egress?: (() => EgressSettings) | undefined;
  /** Called whenever a thread has become ready. */
  readonly onReady?: (() => void) | undefined;
  /** Where runs keep artifacts, asked for each of them; they keep none when it is absent. */
  readonly artifactFolder?: (() => string | undefined) | undefined;
  /** Authorities that runs trust beside the usual ones, as PEM texts; asked when a thread starts. */
  readonly caCertificates?: (() => readonly string[]) | undefined;
  /** A line to the thread for scripts, while there is one. */
  readonly phasePort?: (() => MessagePort | undefined) | undefined;
  readonly threadCount?: number | undefined;
  readonly maxHeapMb?: number | undefined;
  /** Another program for the threads that speaks the same messages. */
  readonly entry?: URL | undefined;
}

/**
 * Half of what the process may use, between 256 MB and 1 GB. Not less: V8 ends a thread that eats memory cleanly only when
 * it can notice in time, and with a small limit one burst of allocations takes the whole process down (measured: at
 * 96 MB two of five ways to eat memory did, at 512 MB none).
 */
function defaultHeapMb(): number {
  const limitMb = process.constrainedMemory() / 2 ** 20;
  const usableMb = limitMb > 0 && limitMb < 2 ** 24 ? limitMb : 2048;
  return Math.round(Math.min(1024, Math.max(256, usableMb / 2)));
}
