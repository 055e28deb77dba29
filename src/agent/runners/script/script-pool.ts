import { extname } from 'node:path';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { checkTypes, findCheckType } from '@picket/checks/index.ts';
import { type ModelAccess, modelMissing } from '@picket/checks/model/access.ts';
import type { ModelOutcome } from '@picket/checks/model/client.ts';
import type { ScriptHostSettings } from '@picket/sandbox/host/settings.ts';
import { availableMemoryBytes } from '@picket/sandbox/host-memory.ts';
import type { DependencyUsage } from '@picket/sandbox/suites/dependency-cache.ts';
import type { ServiceAccess } from '../../client/service-connection.ts';
import { sealLimitMs } from '../../delivery/artifacts/run-artifacts.ts';
import type {
  Capabilities,
  Executor,
  FinishedRun,
  LinesOfRun,
  Room,
  RunOrder,
  TailPlace,
} from '../../run/contracts.ts';
import { deadlineGraceMs } from '../../run/run-deadline.ts';
import type { StopSignal } from '../../run/run-stop.ts';
import { RunnerPool, type RunnerSettings } from '../threads/runner-pool.ts';
import { type RunnerThread, ThreadEnded } from '../threads/runner-thread.ts';
import type { WorkerStart } from '../threads/worker-protocol.ts';
import { type MemoryType, ScriptMemory } from './script-memory.ts';
import { suitesApart } from './suites-apart.ts';

const scriptWorkerEntry = new URL(`./script-worker${extname(import.meta.url)}`, import.meta.url);
/**
 * Allows for the run's own deadline, its grace and the preparation of its artifacts; after that the thread counts as
 * stuck.
 */
const stuckGraceMs = deadlineGraceMs + sealLimitMs.script + 5000;
const restart = { shortLifeMs: 60_000, immediateRestarts: 0, firstDelayMs: 1000, maxDelayMs: 60_000 };
const maxHeapMb = 1024;
/** Time limit for the thread to end its sandboxes when the agent stops. */
const closeMs = 8000;

/** Memory of a run whose type does not declare its need. */
const usualRunBytes = 600 * 1024 ** 2;

const nothing: Capabilities = { loaded: [], backends: {}, failed: [] };

/**
 * Runs the script lane with one thread, which owns the sandboxes. It opens them in the background, and its capabilities
 * are known after that; until then, and while a dead thread is being replaced, no runs are leased for it. The runs of a
 * thread that dies reject with ThreadEnded; the supervisor of the sandboxes ends their processes.
 */
export class ScriptPool implements Executor {
  readonly #options: ScriptPoolOptions;
  readonly #memory: ScriptMemory;
  readonly #pool: RunnerPool;
  #capabilities = nothing;
  #suitePackages: DependencyUsage = { hitCount: 0, missCount: 0, sizeBytes: 0 };
  /** Check types by run id. */
  readonly #runningTypes = new Map<string, string>();
  /** Why the last thread ended. */
  #lastEnd = 'it was not started';
  readonly #known = Promise.withResolvers<Capabilities>();

  constructor(options: ScriptPoolOptions) {
    this.#options = options;
    this.#memory = new ScriptMemory({ clock: options.clock, availableBytes: availableMemoryBytes });
    this.#pool = new RunnerPool({
      settings: options,
      name: 'scripts',
      entry: scriptWorkerEntry,
      maxHeapMb,
      restart,
      start: () => ({
        scripts: options.scripts(),
        service: options.service,
        codeBundle: options.codeBundle,
        model: options.model,
        isBrowserTried: options.isBrowserTried,
      }),
      onReady: (_thread, capabilities) => {
        this.#capabilities = capabilities;
        this.#known.resolve(capabilities);
        this.#logCapabilities();
        options.onReady?.();
      },
      onModelAsked: options.onModelAsked,
      onLiveLog: options.onLiveLog,
      onSuitePackages: (usage) => {
        this.#suitePackages = usage;
      },
      onEnded: (reason) => {
        this.#lastEnd = reason;
        this.#known.resolve({ ...nothing, failed: this.#allFailed(reason) });
      },
    });
  }

  /**
   * Starts to open the sandboxes; resolves with the capabilities once they are known. If the thread dies of it, all types have failed,
   * with the reason.
   */
  async start(): Promise<Capabilities> {
    if (this.#pool.isStopping || !this.isWanted) return nothing;
    this.#pool.start(1);
    return await this.#known.promise;
  }

  get checkTypes(): readonly string[] {
    return this.#capabilities.loaded;
  }

  /** Without runtimes while no thread is ready: runs of other types may need them for their lifecycle scripts. */
  get capabilities(): Capabilities {
    return this.isReady ? this.#capabilities : { ...this.#capabilities, runtimes: [] };
  }

  get isReady(): boolean {
    return this.#pool.isReady;
  }

  /** Whether the capabilities of this host are known; false while the sandboxes are being opened. */
  get isSettled(): boolean {
    return this.isReady || this.#pool.shortLives > 1 || !this.isWanted;
  }

  /** Opens a port to the thread, for the lifecycle scripts of other runs; undefined while it is not ready. */
  openLifecycleScriptPort(): MessagePort | undefined {
    if (!this.#thread || !this.isReady) return undefined;
    const { port1, port2 } = new MessageChannel();
    this.#thread.connectLifecycleScripts(port1);
    return port2;
  }

  /** Use of the packages that suites installed, by the thread that runs now or ran last. */
  get suitePackages(): DependencyUsage {
    return this.#suitePackages;
  }

  get replacedCount(): number {
    return this.#pool.replacedCount;
  }

  /** Whether any of the check types to offer uses scripts. */
  get isWanted(): boolean {
    const wanted = this.#options.checkTypes;
    return checkTypes.some(
      ({ name, lane, usesLifecycleScripts }) =>
        (lane === 'script' || usesLifecycleScripts) && (wanted?.includes(name) ?? true),
    );
  }

  /** Number of further runs that fit into memory, and the types that do not; excludes suites that would conflict. */
  get room(): Room {
    const room = this.#memory.room(this.#capabilities.loaded.map(memoryType));
    const sharesNetwork = this.#capabilities.sandbox?.hasOwnNetwork === false;
    return sharesNetwork ? suitesApart(room, [...this.#runningTypes.values()]) : room;
  }

  /**
   * Runs one order.
   *
   * @throws ThreadEnded if the thread died or was ended before the run was done.
   */
  async run(order: RunOrder, signal: StopSignal): Promise<FinishedRun> {
    const thread = this.#thread;
    if (!thread) throw new ThreadEnded(`the thread for scripts is not running: ${this.#lastEnd}`);
    const timeoutMs = order.timeoutMs ?? findCheckType(order.checkType)?.timeoutMs ?? 0;
    this.#memory.begin(order.runId, { type: memoryType(order.checkType), checkId: order.checkId });
    this.#runningTypes.set(order.runId, order.checkType);
    let peak: Parameters<ScriptMemory['end']>[1] = { bytes: undefined, isLimit: false };
    try {
      const overdueAtMs = this.#options.clock.monotonicMs() + timeoutMs + stuckGraceMs;
      const finished = await thread.run(order, overdueAtMs, signal);
      const { peakMemoryBytes, failureCode } = finished.facts;
      peak = { bytes: peakMemoryBytes, isLimit: failureCode === 'SCRIPT_OUT_OF_MEMORY' };
      return finished;
    } finally {
      this.#memory.end(order.runId, peak);
      this.#runningTypes.delete(order.runId);
    }
  }

  /** Requests the next lines of the logs of these runs; `onLiveLog` gets them. */
  readLogs(places: readonly TailPlace[]): void {
    this.#thread?.readLogs(places);
  }

  /** Ends all sandboxes and the thread. */
  async stop(): Promise<void> {
    this.#known.resolve(nothing);
    await this.#pool.stop(closeMs);
  }

  #allFailed(reason: string): Capabilities['failed'] {
    const wanted = this.#options.checkTypes;
    return checkTypes
      .filter(({ name, lane }) => lane === 'script' && (wanted?.includes(name) ?? true))
      .map(({ name }) => ({ name, reason: `the thread for scripts ended: ${reason}` }));
  }

  get #thread(): RunnerThread | undefined {
    const [thread] = this.#pool.threads;
    return thread;
  }

  #logCapabilities(): void {
    const { log } = this.#options;
    const { loaded, failed, runtimes, sandbox } = this.#capabilities;
    if (sandbox) {
      const { mechanism, problems, partProblems = [] } = sandbox;
      const reasons = [...problems, ...partProblems.map(({ text }) => text)];
      log.info({ checkTypes: loaded, runtimes, mechanism }, 'script sandbox ready');
      for (const reason of reasons) log.warn({ reason }, 'script sandbox degraded');
    }
    for (const { name, reason } of failed) {
      // A model that was never configured is not a problem.
      const level = reason === modelMissing ? 'info' : 'warn';
      log[level]({ checkType: name, reason }, 'check type is not available on this host');
    }
  }
}

function memoryType(name: string): MemoryType {
  return { name, firstBytes: findCheckType(name)?.memoryBytes ?? usualRunBytes };
}

export interface ScriptPoolOptions extends RunnerSettings {
  /** Settings of the sandboxes, read when a thread starts. */
  readonly scripts: () => ScriptHostSettings;
  /** Where suites fetch their code bundles; without it only `codeBundle` can run. */
  readonly service?: ServiceAccess | undefined;
  /** The only code bundle available, on this host's disk. */
  readonly codeBundle?: WorkerStart['codeBundle'];
  /** See `WorkerStart`. */
  readonly isBrowserTried?: boolean | undefined;
  /** The model that runs may use. */
  readonly model?: ModelAccess | undefined;
  /** Called after every request to it. */
  readonly onModelAsked?: ((outcome: ModelOutcome) => void) | undefined;
  /** Called with lines that `readLogs` requested. */
  readonly onLiveLog?: ((runs: readonly LinesOfRun[]) => void) | undefined;
  /** Called whenever the capabilities become known. */
  readonly onReady?: (() => void) | undefined;
}
