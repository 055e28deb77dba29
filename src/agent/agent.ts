import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { Releasers } from '../lib/releasers.ts';
import { packageVersion } from '../lib/version.ts';
import { LeaseKeeper } from './client/lease-keeper.ts';
import { ServiceClient } from './client/service-client.ts';
import { ServiceClock } from './client/service-clock.ts';
import { type AgentSettings, ownSecretsOf } from './config.ts';
import { trustOwnAuthorities } from './custom-ca.ts';
import { Delivery } from './delivery/delivery.ts';
import { droppedResults } from './delivery/spool/dropped-results.ts';
import { ErrorReporter } from './error-report/error-reporter.ts';
import { HealthServer } from './health/health.ts';
import { AgentMetrics } from './health/metrics.ts';
import { agentStatus } from './health/status.ts';
import { keepMemorySmall } from './heap.ts';
import { claimedDescription, mergedCapabilities } from './leasing/description.ts';
import { Dispatcher } from './leasing/dispatcher.ts';
import { Drain } from './leasing/drain.ts';
import { Poller } from './leasing/poller.ts';
import { LocationWatch } from './location/location-watch.ts';
import { selfChecksOf } from './location/self-checks.ts';
import { sickReport } from './location/unhealthy-report.ts';
import { ProbePool } from './runners/probe-pool.ts';
import { ScriptPool } from './runners/script-pool.ts';
import type { Capabilities, FinishedRun } from './runners/worker-protocol.ts';
import { Scrubber } from './scrub/scrubber.ts';
import { isMaskable, minSecretLength } from './scrub/secret-finder.ts';

/**
 * One agent: the parts and what connects them.
 *
 * STARTING: the health port answers, probe threads load their runners. → RUNNING: the poller claims. → DRAINING with
 * the first `stop`: not ready from that instant on; see Drain. → STOPPED: everything is released in reverse order,
 * the health port last, so that liveness is 200 to the end. A second `stop` hurries the drain.
 */
export class Agent {
  readonly #settings: AgentSettings;
  readonly #log: Logger;
  readonly #clock = systemClock;
  readonly #startedAtMs = systemClock.monotonicMs();
  readonly #releasers = new Releasers();
  readonly #serviceClock = new ServiceClock(systemClock);
  readonly #pool: ProbePool;
  readonly #scripts: ScriptPool;
  readonly #client: ServiceClient;
  readonly #scrubber: Scrubber;
  readonly #leaseKeeper: LeaseKeeper;
  readonly #delivery: Delivery;
  readonly #dispatcher: Dispatcher;
  readonly #metrics: AgentMetrics;
  readonly #locationWatch: LocationWatch;
  /** Failed runs about which the location is asked. */
  readonly #judging = new Set<Promise<void>>();
  /** Absent when the operator wants none. */
  readonly #errorReporter: ErrorReporter | undefined;
  readonly #identity: { readonly agentId: string; readonly sessionId: string };
  /** Known before the probe threads start. */
  #ownPorts: readonly number[] = [];
  /** Authorities of CA_CERTS_DIR, known before any thread starts. */
  #caCertificates: readonly string[] = [];
  readonly #namesWarnedOf = new Set<string>();
  #poller: Poller | undefined;
  #drain: Drain | undefined;
  #stopped: Promise<boolean> | undefined;
  #isStopping = false;

  constructor(settings: AgentSettings, log: Logger) {
    const clock = this.#clock;
    const serviceClock = this.#serviceClock;
    this.#settings = settings;
    this.#log = log;
    this.#identity = { agentId: settings.agentId, sessionId: crypto.randomUUID() };
    const ownSecrets = ownSecretsOf(settings);
    this.#scrubber = new Scrubber(ownSecrets);
    const forThreads = {
      clock,
      log,
      ownSecrets,
      checkTypes: settings.checkTypes,
      serviceOffsetMs: () => serviceClock.offsetMs,
      egress: () => ({ ...settings.egress, ownPorts: this.#ownPorts }),
      artifactFolder: () => this.#delivery.spool.artifactFolder,
      caCertificates: () => this.#caCertificates,
    };
    this.#pool = new ProbePool({
      ...forThreads,
      onReady: () => this.#poller?.slotFreed(),
      phasePort: () => this.#scripts.openPhasePort(),
    });
    this.#scripts = new ScriptPool({
      ...forThreads,
      onReady: () => {
        this.#pool.connectPhases();
        this.#poller?.slotFreed();
      },
      scripts: () => ({
        ...settings.scripts,
        scriptCount: settings.laneSizes.script,
        caCertificates: this.#caCertificates,
        privatePaths: [...settings.secretFiles, this.#delivery.spool.state.facts?.folder ?? []].flat(),
        hasWarmProcesses: true,
      }),
      service: { serviceUrl: settings.serviceUrl, apiKey: settings.apiKey, proxy: settings.proxy },
    });
    this.#client = new ServiceClient({
      settings,
      identity: this.#identity,
      version: packageVersion(),
      clock,
      serviceClock,
      onFailed: (kind) => this.#metrics.serviceFailed(kind),
      onRefused: () => this.#refused(),
      onAnswered: () => this.#delivery.reporter.serviceAnswered(),
    });
    this.#errorReporter = settings.isErrorReportingOn
      ? new ErrorReporter({
          clock,
          log,
          scrubber: this.#scrubber,
          send: (envelope) => this.#client.reportError(envelope),
        })
      : undefined;
    this.#leaseKeeper = new LeaseKeeper({ client: this.#client, clock, serviceClock, log });
    this.#delivery = new Delivery({
      settings,
      client: this.#client,
      clock,
      log,
      serviceClock,
      leaseKeeper: this.#leaseKeeper,
      onSettled: (settlement) => this.#metrics.resultSettled(settlement),
      onArtifactEnd: (end) => this.#metrics.artifactEnded(end),
      beforeSending: () => this.#leaseKeeper.verify(),
    });
    this.#dispatcher = new Dispatcher({
      laneSizes: settings.laneSizes,
      lifecycleCount: settings.scripts.lifecycleCount,
      executors: { probe: this.#pool, script: this.#scripts },
      leaseKeeper: this.#leaseKeeper,
      clock,
      serviceClock,
      log,
      scrubber: this.#scrubber,
      serviceSecrets: settings.serviceSecrets,
      onFinished: (run, slotAtMs) => this.#finished(run, slotAtMs),
      onReturned: (lease) => this.#drain?.giveBack([lease]),
      onDiscarded: (lease) => this.#delivery.discardFiles(lease),
      onSlotFree: () => this.#poller?.slotFreed(),
    });
    this.#locationWatch = new LocationWatch({
      clock,
      log,
      selfChecks: selfChecksOf({
        settings,
        connection: () => this.#connection(),
        diskProblem: () => this.#delivery.spool.state.problem,
      }),
      serviceNowMs: () => clock.monotonicMs() + serviceClock.offsetMs,
      report: (events, signal) => this.#client.tellOfLocation(events, signal),
    });
    this.#metrics = new AgentMetrics({
      laneStates: () => this.#dispatcher.laneStates(),
      heldLeases: () => this.#leaseKeeper.heldCount,
      waitingResults: () => this.#delivery.reporter.waitingCount,
      spool: () => this.#delivery.spool.state,
      artifacts: () => this.#delivery.uploader,
      sicknesses: () => this.#locationWatch.sicknesses.map(({ kind }) => kind),
      clockErrorMs: () => serviceClock.errorMs,
      wallSkewMs: () => serviceClock.wallSkewMs,
      isConnected: () => this.#poller?.status.isConnected ?? false,
      replacedThreads: () => this.#pool.replacedCount,
      gateState: () => this.#pool.gateState,
      threadUtilizations: () => this.#pool.utilizations(),
      replacedScriptThreads: () => this.#scripts.replacedCount,
      capabilities: () => this.#capabilities(),
    });
  }

  /**
   * Starts everything and begins to claim. Returns early when `stop` was called meanwhile.
   *
   * @throws AppError CONFIG_INVALID when the health port cannot be had, and an Error when no runner loads; everything is
   * released then.
   */
  async start(): Promise<void> {
    try {
      await this.#start();
    } catch (thrown) {
      // What was being started was ended by the stop.
      if (this.#isStopping) return;
      this.#isStopping = true;
      await this.#releasers.release();
      throw thrown;
    }
  }

  /** Tells the service of an error of the agent itself, and waits a moment for it to get there. */
  async reportFatal(error: unknown, timeoutMs: number): Promise<void> {
    this.#errorReporter?.report(error, 'fatal');
    await this.#errorReporter?.flush(timeoutMs);
  }

  async #start(): Promise<void> {
    const { agentId, healthPort, serviceUrl, laneSizes, serviceSecrets } = this.#settings;
    const health = new HealthServer(
      {
        notReadyReason: () => this.#notReadyReason(),
        detail: () => ({
          ...this.#identity,
          ...agentStatus({
            nowMs: this.#clock.monotonicMs(),
            startedAtMs: this.#startedAtMs,
            notReadyReason: this.#notReadyReason(),
            poller: this.#poller?.status,
            capabilities: this.#capabilities(),
            dispatcher: this.#dispatcher,
            leaseKeeper: this.#leaseKeeper,
            delivery: this.#delivery,
            spoolMaxBytes: this.#settings.spoolMaxBytes,
            serviceClock: this.#serviceClock,
            locationWatch: this.#locationWatch,
            pool: this.#pool,
            scripts: this.#scripts,
          }),
        }),
        metrics: () => this.#metrics.text(),
      },
      this.#log,
    );
    this.#releasers.push('health server', () => health.close());
    this.#releasers.push('metrics', () => this.#metrics.stop());
    this.#releasers.push('service client', () => this.#client.close());
    this.#releasers.push('spool', () => this.#delivery.spool.close());
    this.#releasers.push('location watch', () => this.#locationWatch.stop());
    this.#releasers.push('probe threads', () => this.#pool.stop());
    this.#releasers.push('scripts', () => this.#scripts.stop());
    const port = await health.listen(healthPort);
    // Whatever is begun after a stop would be ended by nobody, and keep the process.
    if (this.#isStopping) return;
    this.#ownPorts = [port];
    this.#metrics.start();
    this.#log.info({ version: packageVersion(), agentId, serviceUrl, port, laneSizes }, 'agent starts');
    this.#caCertificates = await trustOwnAuthorities(this.#settings.caCertsDir, this.#log);
    this.#warnOfShortSecrets(Object.entries(serviceSecrets));
    if (this.#isStopping) return;
    // Both take their time, and neither waits for the other.
    const [{ loaded, failed }] = await Promise.all([this.#pool.start(), this.#openSpool()]);
    if (this.#isStopping) return;
    for (const { name, reason } of failed) {
      this.#log.error({ checkType: name, reason }, 'a check type does not load here and is not offered');
    }
    if (loaded.length === 0 && !this.#scripts.isWanted)
      throw new Error('No check type could be loaded: there is nothing this agent can do');
    this.#poller = this.#createPoller();
    this.#poller.start();
    this.#locationWatch.start();
    this.#releasers.push('memory', keepMemorySmall(this.#log));
    // In the background: no probe waits for sandboxes and runtimes to be looked through.
    void this.#scripts.start();
  }

  async #openSpool(): Promise<void> {
    await this.#delivery.spool.open();
    const { problem } = this.#delivery.spool.state;
    if (problem === undefined || !this.#settings.isSpoolRequired) return;
    throw new AppError('CONFIG_INVALID', `SPOOL_DIR cannot be used (${problem}), and SPOOL_REQUIRED is set`);
  }

  /** What all threads can run. */
  #capabilities(): Capabilities {
    return mergedCapabilities(this.#pool.capabilities, this.#scripts.capabilities);
  }

  #createPoller(): Poller {
    return new Poller({
      client: this.#client,
      dispatcher: this.#dispatcher,
      leaseKeeper: this.#leaseKeeper,
      clock: this.#clock,
      serviceClock: this.#serviceClock,
      log: this.#log,
      description: () => ({
        ...claimedDescription(this.#capabilities()),
        droppedResults: Object.values(droppedResults(this.#delivery.spool.state)).reduce((sum, n) => sum + n),
      }),
      isSettled: () => this.#scripts.isSettled,
      onUnwanted: (leases) => this.#drain?.giveBack(leases),
    });
  }

  /**
   * Stops: the first call drains, the second hurries the drain. Resolves with true when nothing was left behind: no
   * lease held, every result settled.
   */
  async stop(): Promise<boolean> {
    if (this.#stopped) this.#drain?.hurry();
    else this.#stopped = this.#stop();
    return await this.#stopped;
  }

  async #stop(): Promise<boolean> {
    this.#isStopping = true;
    let isClean = true;
    if (this.#poller) {
      this.#drain = new Drain({
        poller: this.#poller,
        dispatcher: this.#dispatcher,
        reporter: this.#delivery.reporter,
        leaseKeeper: this.#leaseKeeper,
        spool: this.#delivery.spool,
        uploader: this.#delivery.uploader,
        client: this.#client,
        clock: this.#clock,
        log: this.#log,
        judged: async () => {
          await Promise.all(this.#judging);
        },
        graceMs: this.#settings.shutdownGraceMs,
      });
      isClean = await this.#drain.run();
    }
    await this.#releasers.release();
    return isClean;
  }

  /** The key is refused: nothing new is started, and the claim under way need not find out by itself. */
  #refused(): void {
    this.#dispatcher.dropUnstarted();
    this.#poller?.interrupt();
  }

  /** A failure that the location may have brought about waits until it is known how the location is. */
  #finished(run: FinishedRun, slotAtMs: number | undefined): void {
    const { failureCode, isAborted } = run.facts;
    if (failureCode === undefined || isAborted || !this.#locationWatch.canExplain(failureCode)) {
      this.#deliver(run, slotAtMs);
      return;
    }
    const judging = this.#locationWatch.explain(failureCode).then((sickness) => {
      this.#judging.delete(judging);
      this.#deliver(sickness ? sickReport(run, sickness, this.#scrubber) : run, slotAtMs);
    });
    this.#judging.add(judging);
  }

  #deliver(run: FinishedRun, slotAtMs: number | undefined): void {
    const { facts } = run;
    this.#metrics.runFinished(facts, slotAtMs);
    if (facts.crash) {
      this.#log.error({ runId: run.runId, checkType: facts.checkType, crash: facts.crash }, 'a runner broke');
      if (facts.crashError) this.#errorReporter?.report(Object.assign(new Error(), facts.crashError));
    }
    this.#warnOf(facts.unmaskedNames);
    this.#delivery.deliver(run, facts.isAttempt ? 'attempt' : 'final');
  }

  #warnOfShortSecrets(secrets: readonly (readonly [string, string])[]): void {
    this.#warnOf(secrets.filter(([, value]) => !isMaskable(value)).map(([name]) => name));
  }

  #warnOf(names: readonly string[]): void {
    for (const name of names) {
      if (this.#namesWarnedOf.has(name) || this.#namesWarnedOf.size > 1000) continue;
      this.#namesWarnedOf.add(name);
      this.#log.warn(
        { variable: name },
        `a secret variable is not masked in results: its value is shorter than ${minSecretLength} characters or too common`,
      );
    }
  }

  #connection(): { readonly awayMs: number | undefined; readonly problem: string } {
    const { isConnected, lastClaimAtMs, problem } = this.#poller?.status ?? { problem: '' };
    if (lastClaimAtMs === undefined) return { awayMs: undefined, problem };
    return { awayMs: isConnected ? 0 : this.#clock.monotonicMs() - lastClaimAtMs, problem };
  }

  #notReadyReason(): string | undefined {
    if (this.#isStopping) return 'shutting down';
    if (!this.#poller) return 'starting: probe threads load';
    const { isConnected, problem } = this.#poller.status;
    return isConnected ? undefined : problem;
  }
}
