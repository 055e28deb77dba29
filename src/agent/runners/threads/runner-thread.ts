import type { EventLoopUtilization } from 'node:perf_hooks';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { ModelOutcome } from '@picket/checks/model/client.ts';
import { cpuMsOf } from '@picket/lib/bounds/cpu-limit.ts';
import { toError } from '@picket/lib/errors.ts';
import type { DependencyUsage } from '@picket/sandbox/suites/dependency-cache.ts';
import { crashSite } from '../../error-report/private-message.ts';
import type { Capabilities, FinishedRun, LinesOfRun, RunOrder, TailPlace } from '../../run/contracts.ts';
import type { StopSignal } from '../../run/run-stop.ts';
import { GateStats } from '../probe/gate-stats.ts';
import { type ThreadAhead, threadOptions } from './thread-ahead.ts';
import type { FromWorker, RunSituation, ToWorker, WorkerStart } from './worker-protocol.ts';

/** The thread ended before its run did. */
export class ThreadEnded extends Error {
  constructor(reason: string) {
    super(`The thread that ran the check ended: ${reason}`);
    this.name = 'ThreadEnded';
  }
}

/**
 * A thread hangs if its event loop was silent for a while and then used this much processor time without a turn.
 * Silence alone could also mean that the thread got no processor.
 */
export interface HangLimits {
  readonly silentMs: number;
  readonly cpuMs: number;
}

const defaultHang: HangLimits = { silentMs: 2000, cpuMs: 5000 };

interface Pending {
  readonly resolve: (run: FinishedRun) => void;
  readonly reject: (error: ThreadEnded) => void;
  readonly signal: StopSignal;
  readonly abort: () => void;
  /** When the thread counts as stuck, on the monotonic clock. */
  readonly overdueAtMs: number;
}

/**
 * One thread that runs checks (probes, or scripts through their sandboxes), as seen by the main thread.
 *
 * STARTING: the worker loads its runners; orders are accepted and wait in its message queue. → READY when it has
 * reported its capabilities. → ENDED when it dies or is stopped: every pending run rejects with ThreadEnded, `ended`
 * resolves with the reason, and no more orders are accepted. A thread that ended is never reused.
 */
export class RunnerThread {
  readonly #worker: Worker;
  readonly #pending = new Map<string, Pending>();
  readonly #situation: () => RunSituation;
  /** State of the thread's admission gate. */
  readonly gate = new GateStats();
  #orders: RunOrder[] = [];
  #aborts: string[] = [];
  #isEnded = false;
  #lastUtilization: EventLoopUtilization | undefined;
  #lastError: Error | undefined;
  /** CPU time of the thread when its event loop was first found silent. */
  #silence: { readonly turnedAtMs: number; readonly cpuMs: number } | undefined;
  /** Resolves with the thread's capabilities; rejects if it ends before. */
  readonly ready: Promise<Capabilities>;
  /** Resolves with the reason when the thread has ended, for whatever cause. */
  readonly ended: Promise<string>;

  constructor(options: {
    readonly entry: URL;
    /** For thread listings. */
    readonly name: string;
    readonly start: Omit<WorkerStart, 'gateMemory'>;
    readonly maxHeapMb: number;
    /** A thread that is already loading, used if it is still alive. */
    readonly ahead?: ThreadAhead | undefined;
    /** Read whenever orders are sent to the thread. */
    readonly situation: () => RunSituation;
    /** Called when the capabilities have changed since the thread was ready. */
    readonly onChanged?: (capabilities: Capabilities) => void;
    readonly onModelAsked?: ((outcome: ModelOutcome) => void) | undefined;
    /** Called with lines that `readLogs` requested. */
    readonly onLiveLog?: ((runs: readonly LinesOfRun[]) => void) | undefined;
    readonly onSuitePackages?: ((usage: DependencyUsage) => void) | undefined;
    /** Called before runs start that are late because the process was stopped. */
    readonly onLate?: (() => void) | undefined;
  }) {
    this.#situation = options.situation;
    const start = { ...options.start, gateMemory: this.gate.memory };
    this.#worker =
      options.ahead?.take(start) ??
      new Worker(options.entry, { ...threadOptions(options), workerData: start });
    const ready = Promise.withResolvers<Capabilities>();
    const ended = Promise.withResolvers<string>();
    this.ready = ready.promise;
    this.ended = ended.promise;
    // Callers that await it see the rejection; without callers it must not count as unhandled.
    this.ready.catch(() => undefined);
    this.#worker.on('message', (message: FromWorker) => {
      if (message.type === 'ready') ready.resolve(message.capabilities);
      else if (message.type === 'changed') options.onChanged?.(message.capabilities);
      else if (message.type === 'model-asked') options.onModelAsked?.(message.outcome);
      else if (message.type === 'live-log') options.onLiveLog?.(message.runs);
      else if (message.type === 'suite-packages') options.onSuitePackages?.(message.usage);
      else if (message.type === 'late') {
        options.onLate?.();
        // After the runs that this has stopped.
        queueMicrotask(() => this.#post({ type: 'start-late' }));
      } else for (const run of message.runs) this.#settle(run);
    });
    this.#worker.on('messageerror', (error) => {
      this.#lastError = toError(error);
      void this.#worker.terminate();
    });
    this.#worker.on('error', (error) => {
      this.#lastError = toError(error);
    });
    this.#worker.on('exit', (code) => {
      this.#isEnded = true;
      const reason = this.#lastError ? crashSite(this.#lastError) : `exit code ${code}`;
      const error = new ThreadEnded(reason);
      ready.reject(error);
      for (const { reject, signal, abort } of this.#pending.values()) {
        signal.removeEventListener('abort', abort);
        reject(error);
      }
      this.#pending.clear();
      ended.resolve(reason);
    });
  }

  get runningCount(): number {
    return this.#pending.size;
  }

  /**
   * Runs one order.
   *
   * @param overdueAtMs when the thread counts as stuck if the run has not returned.
   * @param signal stops the run; its report still arrives.
   * @throws ThreadEnded if the thread dies first, and RangeError or DataCloneError if the order cannot be sent.
   */
  run(order: RunOrder, overdueAtMs: number, signal: StopSignal): Promise<FinishedRun> {
    return new Promise((resolve, reject) => {
      if (this.#isEnded) throw new ThreadEnded('it ended before the run started');
      const abort = () => this.#abort(order.runId);
      signal.addEventListener('abort', abort, { once: true });
      this.#pending.set(order.runId, { resolve, reject, signal, abort, overdueAtMs });
      if (this.#orders.push(order) === 1) queueMicrotask(() => this.#sendOrders());
    });
  }

  /** Makes all runs that have not started in the thread return unstarted; reports wait no longer. */
  withdrawWaiting(): void {
    if (this.#orders.length > 0) this.#sendOrders();
    this.#post({ type: 'withdraw' });
  }

  /** Requests the next lines of the logs of these runs. */
  readLogs(places: readonly TailPlace[]): void {
    this.#post({ type: 'read-logs', places });
  }

  /** Gives the thread its end of a channel to another thread. */
  connectLifecycleScripts(port: MessagePort): void {
    if (this.#isEnded) port.close();
    else this.#worker.postMessage({ type: 'lifecycle-scripts', port } satisfies ToWorker, [port]);
  }

  /** Event loop utilization of the thread since the last call, 0 to 1. */
  utilization(): number {
    const { eventLoopUtilization } = this.#worker.performance;
    const now = eventLoopUtilization();
    const last = this.#lastUtilization;
    this.#lastUtilization = now;
    // With a single argument the runtime compares it with the current value, which is noise.
    const { utilization } = last ? eventLoopUtilization(now, last) : now;
    return utilization;
  }

  /** Whether a run should have returned before `nowMs`. */
  isStuck(nowMs: number): boolean {
    for (const { overdueAtMs } of this.#pending.values()) if (overdueAtMs < nowMs) return true;
    return false;
  }

  /** Whether the thread is stuck in work that does not end. Call it every second. */
  async isHanging(nowMs: number, hang = defaultHang): Promise<boolean> {
    const { turnedAtMs } = this.gate;
    if (this.#isEnded || turnedAtMs === undefined || nowMs - turnedAtMs < hang.silentMs) return false;
    const cpuMs = await cpuMsOf(this.#worker);
    if (cpuMs === undefined) return false;
    if (this.#silence?.turnedAtMs !== turnedAtMs) this.#silence = { turnedAtMs, cpuMs };
    return cpuMs - this.#silence.cpuMs >= hang.cpuMs;
  }

  /** Lets the thread clean up and end; resolves when it has ended, which may be never. */
  async close(): Promise<void> {
    this.#post({ type: 'close' });
    await this.ended;
  }

  /** Terminates the thread now; pending runs reject. */
  async terminate(reason: string): Promise<void> {
    this.#lastError ??= new Error(reason);
    await this.#worker.terminate();
  }

  #settle(run: FinishedRun): void {
    const pending = this.#pending.get(run.report.runId);
    if (!pending) return;
    this.#pending.delete(run.report.runId);
    pending.signal.removeEventListener('abort', pending.abort);
    pending.resolve(run);
  }

  #sendOrders(): void {
    const orders = this.#orders;
    this.#orders = [];
    this.#post({ type: 'run', situation: this.#situation(), orders });
  }

  #abort(runId: string): void {
    if (this.#aborts.push(runId) > 1) return;
    queueMicrotask(() => {
      const runIds = this.#aborts;
      this.#aborts = [];
      // Send new orders first: an abort of a run that the worker does not know would be lost.
      if (this.#orders.length > 0) this.#sendOrders();
      this.#post({ type: 'abort', runIds });
    });
  }

  #post(message: ToWorker): void {
    if (!this.#isEnded) this.#worker.postMessage(message);
  }
}
