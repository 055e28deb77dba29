import { extname } from 'node:path';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { checkTypes, findCheckType } from '../../checks/index.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { defaultEgressSettings, type EgressSettings } from '../../probes/egress/policy.ts';
import type { ScriptHostSettings } from '../../sandbox/host/script-host.ts';
import { availableMemoryBytes } from '../../sandbox/host-memory.ts';
import type { ServiceAccess } from '../client/service-connection.ts';
import { sealLimitMs } from '../delivery/artifacts/run-artifacts.ts';
import type { Room } from '../leasing/dispatcher.ts';
import { deadlineGraceMs } from '../run/run-deadline.ts';
import { RunnerThread, ThreadEnded } from './runner-thread.ts';
import { type MemoryType, ScriptMemory } from './script-memory.ts';
import type { Capabilities, FinishedRun, RunOrder, WorkerStart } from './worker-protocol.ts';

const scriptWorkerEntry = new URL(`./script-worker${extname(import.meta.url)}`, import.meta.url);
const allNames = checkTypes.map(({ name }) => name);
const watchIntervalMs = 1000;
/** Beyond the run's own deadline, its grace and the making of its artifacts: then it is the thread that hangs. */
const stuckGraceMs = deadlineGraceMs + sealLimitMs.script + 5000;
const replaceDelayMs = 1000;
const maxReplaceDelayMs = 60_000;
/** A thread that lived this long may be replaced at once. */
const longLifeMs = 60_000;
/** How long the thread may take to end its sandboxes when the agent stops. */
const closeMs = 8000;

/** What a run of a type that says nothing takes. */
const usualRunBytes = 600 * 1024 ** 2;

const nothing: Capabilities = { loaded: [], backends: {}, failed: [] };

/**
 * What runs the script lane: one thread, which has the sandboxes. It opens them in the background, and what it can run is
 * known when it has; until then, and while a thread that died is replaced, nothing is leased for it. The runs of a thread
 * that dies reject with ThreadEnded; what they had started is ended by the supervisor of the sandboxes.
 */
export class ScriptPool {
  readonly #options: ScriptPoolOptions;
  readonly #memory: ScriptMemory;
  #thread: RunnerThread | undefined;
  #isReady = false;
  #isStopping = false;
  #capabilities = nothing;
  #watch: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  /** Why the last thread ended. */
  #lastEnd = 'it was not started';
  #shortLives = 0;
  #replacedCount = 0;
  readonly #known = Promise.withResolvers<Capabilities>();

  constructor(options: ScriptPoolOptions) {
    this.#options = options;
    this.#memory = new ScriptMemory({ clock: options.clock, availableBytes: availableMemoryBytes });
  }

  /** Begins to open the sandboxes; resolves with what can be run, once that is known: nothing, when the thread dies of it. */
  async start(): Promise<Capabilities> {
    if (this.#isStopping || !this.isWanted) return nothing;
    this.#watch = setInterval(() => this.#endStuckThread(), watchIntervalMs);
    this.#watch.unref();
    this.#startThread();
    return await this.#known.promise;
  }

  get checkTypes(): readonly string[] {
    return this.#capabilities.loaded;
  }

  /** Without runtimes while no thread is there: runs of other types may need them for scripts around them. */
  get capabilities(): Capabilities {
    return this.#isReady ? this.#capabilities : { ...this.#capabilities, runtimes: [] };
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Whether it is known what this host can run; false while the sandboxes are being opened. */
  get isSettled(): boolean {
    return this.#isReady || this.#shortLives > 1 || !this.isWanted;
  }

  /** A line to the thread, for scripts around runs of others; undefined while it is not ready. */
  openPhasePort(): MessagePort | undefined {
    if (!this.#thread || !this.#isReady) return undefined;
    const { port1, port2 } = new MessageChannel();
    this.#thread.connectPhases(port1);
    return port2;
  }

  get replacedCount(): number {
    return this.#replacedCount;
  }

  /** Whether any of the check types to offer uses scripts. */
  get isWanted(): boolean {
    const { checkTypes: wanted = allNames } = this.#options;
    return checkTypes.some(
      ({ name, lane, usesLifecycleScripts }) =>
        (lane === 'script' || usesLifecycleScripts) && wanted.includes(name),
    );
  }

  /** How many more runs the memory of this host allows, and of which types none. */
  get room(): Room {
    return this.#memory.room(this.#capabilities.loaded.map(memoryType));
  }

  /**
   * Runs one order.
   *
   * @throws ThreadEnded when the thread died or was ended before the run was done.
   */
  async run(order: RunOrder, signal: AbortSignal): Promise<FinishedRun> {
    if (!this.#thread) throw new ThreadEnded(`the thread for scripts is not running: ${this.#lastEnd}`);
    const { clock } = this.#options;
    const timeoutMs = order.timeoutMs ?? findCheckType(order.checkType)?.timeoutMs ?? 0;
    this.#memory.begin(order.runId, { type: memoryType(order.checkType), checkId: order.checkId });
    let peakBytes: number | undefined;
    try {
      const overdueAtMs = clock.monotonicMs() + timeoutMs + stuckGraceMs;
      const finished = await this.#thread.run(order, overdueAtMs, signal);
      peakBytes = finished.facts.peakMemoryBytes;
      return finished;
    } finally {
      this.#memory.end(order.runId, peakBytes);
    }
  }

  /** Ends all sandboxes and the thread. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#known.resolve(nothing);
    clearInterval(this.#watch);
    clearTimeout(this.#restart);
    const thread = this.#thread;
    if (!thread) return;
    const over = new AbortController();
    await Promise.race([thread.close(), this.#options.clock.sleep(closeMs, over.signal)]);
    over.abort();
    await thread.terminate('the agent stops');
  }

  #startThread(): void {
    const { clock } = this.#options;
    const startedAtMs = clock.monotonicMs();
    const thread = new RunnerThread({
      name: 'scripts',
      entry: this.#options.entry ?? scriptWorkerEntry,
      start: {
        ownSecrets: this.#options.ownSecrets,
        checkTypes: this.#options.checkTypes ?? allNames,
        egress: this.#options.egress?.() ?? defaultEgressSettings,
        scripts: this.#options.scripts(),
        service: this.#options.service,
        codeBundle: this.#options.codeBundle,
      },
      maxHeapMb: 1024,
      situation: () => ({
        serviceOffsetMs: this.#options.serviceOffsetMs(),
        artifactFolder: this.#options.artifactFolder?.(),
      }),
    });
    this.#thread = thread;
    void thread.ready.then(
      (capabilities) => {
        if (this.#thread !== thread) return;
        this.#isReady = true;
        this.#capabilities = capabilities;
        this.#known.resolve(capabilities);
        this.#tell(capabilities);
        this.#options.onReady?.();
      },
      () => undefined, // it ended while opening, which `ended` tells
    );
    void thread.ended.then((reason) => this.#replace(reason, startedAtMs));
  }

  #tell({ loaded, failed, runtimes, sandbox }: Capabilities): void {
    const { log } = this.#options;
    if (sandbox) {
      const { mechanism, problems } = sandbox;
      log.info({ checkTypes: loaded, runtimes, mechanism }, 'scripts can be run');
      for (const problem of problems) log.warn({ problem }, 'script sandbox degraded');
    }
    for (const { name, reason } of failed) {
      log.warn({ checkType: name, reason }, 'a check type cannot be run here and is not offered');
    }
  }

  #replace(reason: string, startedAtMs: number): void {
    this.#thread = undefined;
    this.#isReady = false;
    this.#lastEnd = reason;
    this.#known.resolve(nothing);
    if (this.#isStopping) return;
    const { clock, log } = this.#options;
    this.#replacedCount++;
    this.#shortLives = clock.monotonicMs() - startedAtMs < longLifeMs ? this.#shortLives + 1 : 0;
    log.error({ reason }, 'the thread for scripts ended unexpectedly and is replaced; its runs are reported');
    const delayMs =
      this.#shortLives === 0 ? 0 : Math.min(maxReplaceDelayMs, replaceDelayMs * 2 ** (this.#shortLives - 1));
    this.#restart = setTimeout(() => this.#startThread(), delayMs);
  }

  #endStuckThread(): void {
    if (this.#thread?.isStuck(this.#options.clock.monotonicMs())) {
      void this.#thread.terminate('it did not answer any more');
    }
  }
}

function memoryType(name: string): MemoryType {
  return { name, firstBytes: findCheckType(name)?.memoryBytes ?? usualRunBytes };
}

export interface ScriptPoolOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Secrets removed from every report: the agent's key and the `SERVICE_SECRET_*` values. */
  readonly ownSecrets: readonly string[];
  /** Names of the check types to offer; all when absent. Without one that has scripts nothing is started. */
  readonly checkTypes?: readonly string[] | undefined;
  readonly serviceOffsetMs: () => number;
  readonly egress?: (() => EgressSettings) | undefined;
  readonly artifactFolder?: (() => string | undefined) | undefined;
  /** What the sandboxes are made of, asked when a thread starts. */
  readonly scripts: () => ScriptHostSettings;
  /** Where suites get their code bundles; without it, and without a bundle of their own, none can be run. */
  readonly service?: ServiceAccess | undefined;
  /** The only code bundle there is, on this host's disk. */
  readonly codeBundle?: WorkerStart['codeBundle'];
  /** Called whenever it has become known what can be run. */
  readonly onReady?: (() => void) | undefined;
  /** Another program for the thread that speaks the same messages. */
  readonly entry?: URL | undefined;
}
