import { ModelTotals } from '@picket/checks/model/totals.ts';
import { unmaskableNames } from '@picket/checks/secrets/secret-finder.ts';
import { systemClock } from '@picket/lib/clock.ts';
import { trustCustomCa } from '@picket/lib/custom-ca.ts';
import type { Logger } from '@picket/lib/log.ts';
import { packageVersion } from '@picket/lib/version.ts';
import { LeaseKeeper } from './client/lease-keeper.ts';
import { ServiceClient } from './client/service-client.ts';
import { ServiceClock } from './client/service-clock.ts';
import type { AgentSettings } from './config.ts';
import { Delivery } from './delivery/delivery.ts';
import { FinishedRuns } from './delivery/finished-runs.ts';
import { spoolTag } from './delivery/spool/spool-folder.ts';
import { ErrorReporter } from './error-report/error-reporter.ts';
import { HealthServer } from './health/health.ts';
import { AgentMetrics } from './health/metrics.ts';
import { agentStatus } from './health/status.ts';
import { ConditionMeter } from './leasing/condition.ts';
import { claimedDescription, mergedCapabilities } from './leasing/description.ts';
import { Dispatcher } from './leasing/dispatcher.ts';
import { Drain } from './leasing/drain.ts';
import { LocationSettings } from './leasing/location-settings.ts';
import { Poller } from './leasing/poller.ts';
import { LiveLogSender } from './live-log/live-log-sender.ts';
import { LocationWatch } from './location/location-watch.ts';
import { selfChecksOf } from './location/self-checks.ts';
import { ownSecretsOf } from './own-secrets.ts';
import { SecretReferences } from './references/secret-references.ts';
import type { Capabilities } from './run/contracts.ts';
import { ProbePool } from './runners/probe/probe-pool.ts';
import { ScriptPool } from './runners/script/script-pool.ts';
import type { RunnerSettings } from './runners/threads/runner-pool.ts';
import type { ThreadAhead } from './runners/threads/thread-ahead.ts';
import type { Scrubber } from './scrub/scrubber.ts';
import { claimedKeys, Trust } from './trust/trust.ts';

/**
 * One agent: its parts and how they are connected.
 *
 * STARTING: the health port responds, probe threads load their runners. → RUNNING: the poller claims runs. → DRAINING
 * at the first `stop`: not ready from then on; see Drain. → STOPPED: all resources are released in reverse order, the
 * health port last, so that liveness stays 200 to the end. A second `stop` hurries the drain.
 */
export class Agent {
  readonly #settings: AgentSettings;
  readonly #log: Logger;
  readonly #clock = systemClock;
  readonly #startedAtMs = systemClock.monotonicMs();
  readonly #resources = new AsyncDisposableStack();
  readonly #serviceClock = new ServiceClock(systemClock);
  readonly #identity: { readonly agentId: string; readonly sessionId: string };
  readonly #scrubber: Scrubber;
  readonly #references: SecretReferences;
  readonly #client: ServiceClient;
  /** Absent if the operator turned error reports off. */
  readonly #errorReporter: ErrorReporter | undefined;
  readonly #leaseKeeper: LeaseKeeper;
  readonly #delivery: Delivery;
  readonly #liveLog: LiveLogSender;
  readonly #pool: ProbePool;
  readonly #scripts: ScriptPool;
  readonly #locationWatch: LocationWatch;
  readonly #trust: Trust;
  readonly #metrics: AgentMetrics;
  readonly #modelTotals = new ModelTotals();
  readonly #locationSettings: LocationSettings;
  readonly #finishedRuns: FinishedRuns;
  readonly #dispatcher: Dispatcher;
  readonly #poller: Poller;
  /** Known before the probe threads start. */
  #ownPorts: readonly number[] = [];
  /** Certificates of CA_CERTS_DIR, known before any thread starts. */
  #caCertificates: readonly string[] = [];
  #drain: Drain | undefined;
  #stopped: Promise<boolean> | undefined;
  #isStopping = false;

  /**
   * @param means.scrubber removes the secrets of these settings; the one that the log uses, too, because it learns those
   * that are fetched later.
   * @param probeThreads threads that are already loading, if any.
   */
  constructor(
    settings: AgentSettings,
    { log, scrubber }: { readonly log: Logger; readonly scrubber: Scrubber },
    probeThreads: readonly ThreadAhead[] = [],
  ) {
    this.#settings = settings;
    this.#log = log;
    this.#scrubber = scrubber;
    this.#identity = { agentId: settings.agentId, sessionId: crypto.randomUUID() };
    this.#locationSettings = new LocationSettings(settings, log);
    const ownSecrets = ownSecretsOf(settings);
    const forRunners: RunnerSettings = {
      clock: this.#clock,
      log,
      ownSecrets,
      kerberos: settings.kerberos,
      checkTypes: settings.checkTypes,
      serviceOffsetMs: () => this.#serviceClock.offsetMs,
      egress: () => ({ ...settings.egress, ownPorts: this.#ownPorts }),
      artifactFolder: () => this.#delivery.spool.artifactFolder,
      roomForRuns: () => this.#dispatcher.freeSlots().probe,
      onLate: () => this.#leaseKeeper.expireOverdue(),
    };
    // Each part needs the ones before it.
    const base = { clock: this.#clock, serviceClock: this.#serviceClock, log };
    this.#references = new SecretReferences({
      ...base,
      access: settings.references,
      epochMs: () => this.#serviceClock.nowMs(),
      scrubber,
      onFetch: (provider, outcome) => this.#metrics.secretFetched(provider, outcome),
    });
    this.#client = this.#createClient();
    if (settings.isErrorReportingOn) {
      const send = (envelope: string) => this.#client.reportError(envelope);
      this.#errorReporter = new ErrorReporter({ clock: this.#clock, log, scrubber, send });
    }
    this.#liveLog = new LiveLogSender({
      ...base,
      read: (places) => this.#scripts.readLogs(places),
      send: (runs) => this.#client.sendLiveLog(runs),
    });
    const onFollowed = (runIds: readonly string[]) => this.#liveLog.follow(runIds);
    this.#leaseKeeper = new LeaseKeeper({ ...base, client: this.#client, onFollowed });
    this.#delivery = new Delivery({
      ...base,
      settings,
      client: this.#client,
      leaseKeeper: this.#leaseKeeper,
      onSettled: (settlement) => this.#metrics.resultSettled(settlement),
      onArtifactEnd: (end) => this.#metrics.artifactEnded(end),
    });
    this.#pool = new ProbePool({
      ...forRunners,
      threadsAhead: probeThreads,
      caCertificates: () => this.#caCertificates,
      onReady: () => this.#poller.slotFreed(),
      lifecycleScriptPort: () => this.#scripts.openLifecycleScriptPort(),
    });
    this.#scripts = this.#createScriptPool(forRunners);
    this.#locationWatch = new LocationWatch({
      ...base,
      selfChecks: selfChecksOf({
        serviceUrl: settings.serviceUrl,
        canaries: settings.canaries,
        connection: () => this.#poller.connection,
        diskProblem: () => this.#delivery.spool.state.problem,
      }),
      report: (events, signal) => this.#client.reportLocationEvents(events, signal),
    });
    this.#trust = new Trust(settings.trustedKeys, {
      revokedIds: settings.revokedKeys,
      ...base,
      folder: { path: settings.spoolDir, tag: spoolTag(settings.serviceUrl, settings.apiKey) },
    });
    this.#metrics = this.#createMetrics();
    this.#finishedRuns = new FinishedRuns({
      log,
      scrubber: this.#scrubber,
      locationWatch: this.#locationWatch,
      count: (facts, slotAtMs) => this.#metrics.runFinished(facts, slotAtMs),
      errorReporter: this.#errorReporter,
      delivery: this.#delivery,
    });
    this.#dispatcher = new Dispatcher({
      ...base,
      laneSizes: settings.laneSizes,
      settings: this.#locationSettings,
      lifecycleCount: settings.scripts.lifecycleCount,
      executors: { probe: this.#pool, script: this.#scripts },
      leaseKeeper: this.#leaseKeeper,
      scrubber: this.#scrubber,
      trust: this.#trust,
      serviceSecrets: settings.serviceSecrets,
      references: this.#references,
      isPassing: (checkId) => this.#finishedRuns.isPassing(checkId),
      onFinished: (run, origin) => this.#finishedRuns.take(run, origin),
      onReturned: (lease) => this.#drain?.giveBack([lease]),
      onDiscarded: (lease) => this.#delivery.discardFiles(lease),
      onSlotFree: () => this.#poller.slotFreed(),
    });
    const condition = new ConditionMeter({
      clock: this.#clock,
      dispatcher: this.#dispatcher,
      delivery: this.#delivery,
      spoolMaxBytes: settings.spoolMaxBytes,
    });
    this.#poller = new Poller({
      ...base,
      client: this.#client,
      dispatcher: this.#dispatcher,
      settings: this.#locationSettings,
      leaseKeeper: this.#leaseKeeper,
      description: () => ({
        ...claimedDescription(this.#capabilities(), this.#locationSettings),
        trustedKeys: claimedKeys(settings.trustedKeys, settings.revokedKeys),
        condition: condition.read(),
        droppedResults: Object.values(this.#delivery.spool.state.dropped).reduce((sum, count) => sum + count),
      }),
      isSettled: () => this.#scripts.isSettled,
      onFollowed,
      onUnwanted: (leases) => this.#drain?.giveBack(leases),
    });
  }

  #createClient(): ServiceClient {
    return new ServiceClient({
      settings: this.#settings,
      identity: this.#identity,
      version: packageVersion(),
      clock: this.#clock,
      serviceClock: this.#serviceClock,
      onFailed: (kind) => this.#metrics.serviceFailed(kind),
      // The key is refused: start nothing new, and end the pending claim without waiting for its own 401.
      onRefused: () => {
        this.#dispatcher.dropUnstarted();
        this.#poller.interrupt();
      },
      onAnswered: () => this.#delivery.reporter.serviceAnswered(),
    });
  }

  #createScriptPool(forRunners: RunnerSettings): ScriptPool {
    const { scripts, laneSizes, secretFiles, serviceUrl, apiKey, proxy, model, kerberos } = this.#settings;
    return new ScriptPool({
      ...forRunners,
      onReady: () => {
        this.#pool.connectLifecycleScripts();
        this.#poller.slotFreed();
      },
      scripts: () => ({
        ...scripts,
        scriptCount: laneSizes.script,
        caCertificates: this.#caCertificates,
        browserLoginServers: kerberos.browserServers,
        privatePaths: [...secretFiles, this.#delivery.spool.state.facts?.folder ?? []].flat(),
        hasWarmProcesses: true,
      }),
      service: { serviceUrl, apiKey, proxy },
      isBrowserTried: true,
      model,
      onModelAsked: (outcome) => this.#modelTotals.add(outcome),
      onLiveLog: (runs) => this.#liveLog.take(runs),
    });
  }

  #createMetrics(): AgentMetrics {
    return new AgentMetrics({
      laneStates: () => this.#dispatcher.laneStates(),
      heldLeases: () => this.#leaseKeeper.heldCount,
      waitingResults: () => this.#delivery.reporter.waitingCount,
      spool: () => this.#delivery.spool.state,
      artifacts: () => this.#delivery.uploader,
      unhealthyParts: () => this.#locationWatch.unhealthyParts.map(({ kind }) => kind),
      serviceClock: this.#serviceClock,
      isConnected: () => this.#poller.status.isConnected,
      isDraining: () => this.#locationSettings.isDraining,
      probes: this.#pool,
      replacedScriptThreads: () => this.#scripts.replacedCount,
      capabilities: () => this.#capabilities(),
      suitePackages: () => this.#scripts.suitePackages,
      model: this.#modelTotals,
      secrets: () => this.#references.states(),
      refusals: () => this.#trust.refusals,
    });
  }

  #createHealthServer(): HealthServer {
    return new HealthServer(
      {
        notReadyReason: () => this.#notReadyReason(),
        detail: () => ({
          ...this.#identity,
          ...agentStatus({
            nowMs: this.#clock.monotonicMs(),
            startedAtMs: this.#startedAtMs,
            notReadyReason: this.#notReadyReason(),
            poller: this.#poller.status,
            capabilities: this.#capabilities(),
            dispatcher: this.#dispatcher,
            leaseKeeper: this.#leaseKeeper,
            delivery: this.#delivery,
            spoolMaxBytes: this.#settings.spoolMaxBytes,
            serviceClock: this.#serviceClock,
            locationWatch: this.#locationWatch,
            locationSettings: this.#locationSettings,
            pool: this.#pool,
            scripts: this.#scripts,
            secrets: this.#references.states(),
          }),
        }),
        metrics: () => this.#metrics.text(),
      },
      this.#log,
    );
  }

  /**
   * Starts all parts and begins to claim runs. Returns early if `stop` is called meanwhile.
   *
   * @throws AppError CONFIG_INVALID if the health port cannot be bound, or an Error if no runner loads. All resources
   * are released first.
   */
  async start(): Promise<void> {
    try {
      await this.#start();
    } catch (thrown) {
      // `stop` already ended the parts that were starting.
      if (this.#isStopping) return;
      this.#isStopping = true;
      await this.#resources.disposeAsync();
      throw thrown;
    }
  }

  async #start(): Promise<void> {
    const { agentId, healthPort, serviceUrl, laneSizes, serviceSecrets } = this.#settings;
    const health = this.#createHealthServer();
    this.#resources.defer(() => health.close());
    this.#resources.defer(() => this.#client.close());
    this.#resources.use(this.#references);
    this.#resources.defer(() => this.#delivery.spool.close());
    this.#resources.defer(() => this.#locationWatch.stop());
    this.#resources.defer(() => this.#pool.stop());
    this.#resources.defer(() => this.#scripts.stop());
    this.#resources.defer(() => this.#liveLog.stop());
    const port = await health.listen(healthPort);
    // Parts started after a stop would never be ended and would keep the process alive.
    if (this.#isStopping) return;
    this.#ownPorts = [port];
    this.#log.info({ version: packageVersion(), agentId, serviceUrl, port, laneSizes }, 'agent starts');
    this.#caCertificates = await trustCustomCa(this.#settings.caCertsDir, this.#log);
    this.#finishedRuns.warnOfUnmasked(unmaskableNames(Object.keys(serviceSecrets), serviceSecrets));
    if (this.#isStopping) return;
    this.#references.start();
    // Both are slow and independent of each other.
    const [{ loaded, failed }] = await Promise.all([this.#pool.start(), this.#delivery.open()]);
    if (this.#isStopping) return;
    for (const { name, reason } of failed) {
      this.#log.error({ checkType: name, reason }, 'check type failed to load and is not offered');
    }
    if (loaded.length === 0 && !this.#scripts.isWanted)
      throw new Error('No check type could be loaded, so this agent cannot run checks');
    this.#poller.start();
    this.#locationWatch.start();
    // In the background: probes do not wait until sandboxes and runtimes are examined.
    void this.#scripts.start();
  }

  /**
   * Stops the agent: the first call drains, the second hurries the drain. Resolves with true if nothing was left
   * behind: no lease held, every result settled.
   */
  async stop(): Promise<boolean> {
    if (this.#stopped) this.#drain?.hurry();
    else this.#stopped = this.#stop();
    return await this.#stopped;
  }

  async #stop(): Promise<boolean> {
    this.#isStopping = true;
    let isClean = true;
    if (this.#poller.isStarted) {
      this.#drain = new Drain({
        poller: this.#poller,
        dispatcher: this.#dispatcher,
        leaseKeeper: this.#leaseKeeper,
        delivery: this.#delivery,
        client: this.#client,
        clock: this.#clock,
        log: this.#log,
        judged: () => this.#finishedRuns.judged(),
        graceMs: this.#settings.shutdownGraceMs,
      });
      isClean = await this.#drain.run();
    }
    await this.#resources.disposeAsync();
    return isClean;
  }

  /** Reports an error of the agent itself to the service, and waits up to `timeoutMs` for delivery. */
  async reportFatal(error: unknown, timeoutMs: number): Promise<void> {
    this.#errorReporter?.report(error, 'fatal');
    await this.#errorReporter?.flush(timeoutMs);
  }

  /** Check types that the threads can run, all threads together. */
  #capabilities(): Capabilities {
    return mergedCapabilities(this.#pool.capabilities, this.#scripts.capabilities);
  }

  #notReadyReason(): string | undefined {
    if (this.#isStopping) return 'shutting down';
    const { isConnected, problem } = this.#poller.status;
    return isConnected ? undefined : problem;
  }
}
