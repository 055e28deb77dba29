import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { Releasers } from '../lib/releasers.ts';
import { packageVersion } from '../lib/version.ts';
import type { LeaseRef } from '../protocol/agent.ts';
import { agentStatus } from './agent-status.ts';
import { ArtifactUploader } from './artifacts/artifact-uploader.ts';
import { runFolder } from './artifacts/work-folder.ts';
import { claimedFacts } from './capability-facts.ts';
import { type AgentSettings, ownSecretsOf } from './config.ts';
import { Dispatcher } from './dispatcher.ts';
import { Drain } from './drain.ts';
import { ErrorReporter } from './error-report/error-reporter.ts';
import { HealthServer } from './health.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { AgentMetrics } from './metrics.ts';
import { trustOwnAuthorities } from './own-authorities.ts';
import { Poller } from './poller.ts';
import { ProbePool } from './probe-pool.ts';
import { Reporter } from './reporter.ts';
import { ScriptPool } from './script-pool.ts';
import { isMaskable, minSecretLength } from './scrub/secret-finder.ts';
import { Scrubber } from './scrubber.ts';
import { ServiceClient } from './service-client.ts';
import { ServiceClock } from './service-clock.ts';
import { Spool } from './spool/spool.ts';
import { spoolTag } from './spool/spool-folder.ts';
import type { WaitingReport } from './spool/waiting-report.ts';
import type { Settlement } from './upload.ts';
import type { Capabilities, FinishedRun } from './worker-message.ts';

/** Reports kept in memory while the disk does not take them, in characters of JSON. */
const maxMemorySize = 64 * 1024 * 1024;

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
  readonly #leaseKeeper: LeaseKeeper;
  readonly #spool: Spool;
  readonly #reporter: Reporter;
  readonly #uploader: ArtifactUploader;
  readonly #dispatcher: Dispatcher;
  readonly #metrics: AgentMetrics;
  /** Absent when the operator wants none. */
  readonly #errorReporter: ErrorReporter | undefined;
  readonly #identity: { readonly agentId: string; readonly sessionId: string };
  /** Known before the probe threads start. */
  #ownPorts: readonly number[] = [];
  /** Authorities of CA_CERTS_DIR, known before any thread starts. */
  #caCertificates: readonly string[] = [];
  /** Results the service has, whose artifacts it has not: they stay in the spool for as long. */
  readonly #awaitingArtifacts = new Map<string, WaitingReport>();
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
    this.#pool = new ProbePool({
      clock,
      log,
      ownSecrets,
      serviceOffsetMs: () => serviceClock.offsetMs,
      onReady: () => this.#poller?.slotFreed(),
      egress: () => ({ ...settings.egress, ownPorts: this.#ownPorts }),
      artifactFolder: () => this.#spool.artifactFolder,
      caCertificates: () => this.#caCertificates,
    });
    this.#scripts = new ScriptPool({
      clock,
      log,
      ownSecrets,
      serviceOffsetMs: () => serviceClock.offsetMs,
      onReady: () => this.#poller?.slotFreed(),
      egress: () => ({ ...settings.egress, ownPorts: this.#ownPorts }),
      artifactFolder: () => this.#spool.artifactFolder,
      scripts: () => ({
        ...settings.scripts,
        scriptCount: settings.laneSizes.script,
        caCertificates: this.#caCertificates,
        privatePaths: [
          ...settings.secretFiles,
          ...(this.#spool.state.facts ? [this.#spool.state.facts.folder] : []),
        ],
        hasSpares: true,
      }),
    });
    this.#client = new ServiceClient({
      settings,
      identity: this.#identity,
      version: packageVersion(),
      clock,
      serviceClock,
      onFailed: (kind) => this.#metrics.serviceFailed(kind),
      onRefused: () => this.#refused(),
      onAnswered: () => this.#reporter.serviceAnswered(),
    });
    this.#errorReporter = settings.isErrorReportingOn
      ? new ErrorReporter({
          clock,
          log,
          scrubber: new Scrubber(ownSecrets),
          send: (envelope) => this.#client.reportError(envelope),
        })
      : undefined;
    this.#leaseKeeper = new LeaseKeeper({ client: this.#client, clock, serviceClock, log });
    this.#spool = new Spool({
      directory: settings.spoolDir,
      tag: spoolTag(settings.serviceUrl, settings.apiKey),
      maxBytes: settings.spoolMaxBytes,
      maxMemorySize,
      clock,
      log,
      serviceNowMs: () => clock.monotonicMs() + serviceClock.offsetMs,
      notBeforeMs: () =>
        Number.isFinite(serviceClock.errorMs)
          ? clock.monotonicMs() + serviceClock.offsetMs - settings.spoolMaxAgeMs
          : 0,
      onDurable: ({ report }) => {
        this.#leaseKeeper.letGoSoon(report);
        this.#uploader.makeRoom();
      },
      onDropped: ({ report }) => {
        this.#leaseKeeper.drop(report);
        this.#uploader.discard(report);
      },
      onBacklog: () => this.#reporter.backlogChanged(),
    });
    this.#reporter = new Reporter({
      client: this.#client,
      clock,
      log,
      spool: this.#spool,
      onSettled: (waiting, settlement) => this.#settled(waiting, settlement),
      onTaken: ({ report }) => this.#uploader.hold(report, report.artifacts),
      beforeSending: () => this.#leaseKeeper.expireOverdue(),
    });
    this.#uploader = new ArtifactUploader({
      client: this.#client,
      clock,
      log,
      maxWaitingBytes: () => settings.spoolMaxBytes - this.#spool.sizeBytes,
      onEnd: (end) => this.#metrics.artifactEnded(end),
      onGone: (lease) => this.#artifactsGone(lease),
    });
    this.#dispatcher = new Dispatcher({
      laneSizes: settings.laneSizes,
      executors: { probe: this.#pool, script: this.#scripts },
      leaseKeeper: this.#leaseKeeper,
      clock,
      serviceClock,
      log,
      scrubber: new Scrubber(ownSecrets),
      serviceSecrets: settings.serviceSecrets,
      onFinished: (run, slotAtMs) => this.#finished(run, slotAtMs),
      onReturned: (lease) => this.#drain?.giveBack([lease]),
      onDiscarded: (lease) => {
        const folder = this.#spool.artifactFolder;
        if (folder !== undefined) this.#uploader.removeFolder(runFolder(folder, lease));
      },
      onSlotFree: () => this.#poller?.slotFreed(),
    });
    this.#metrics = new AgentMetrics({
      laneStates: () => this.#dispatcher.laneStates(),
      heldLeases: () => this.#leaseKeeper.heldCount,
      waitingResults: () => this.#reporter.waitingCount,
      spool: () => this.#spool.state,
      artifacts: () => this.#uploader,
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
            reporter: this.#reporter,
            spool: this.#spool,
            spoolMaxBytes: this.#settings.spoolMaxBytes,
            uploader: this.#uploader,
            serviceClock: this.#serviceClock,
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
    this.#releasers.push('spool', () => this.#spool.close());
    this.#releasers.push('probe threads', () => this.#pool.stop());
    this.#releasers.push('scripts', () => this.#scripts.stop());
    const port = await health.listen(healthPort);
    await this.#openSpool();
    this.#ownPorts = [port];
    this.#metrics.start();
    this.#log.info({ version: packageVersion(), agentId, serviceUrl, port, laneSizes }, 'agent starts');
    this.#caCertificates = await trustOwnAuthorities(this.#settings.caCertsDir, this.#log);
    this.#warnOfShortSecrets(Object.entries(serviceSecrets));
    const capabilities = await this.#pool.start();
    const { loaded, failed } = capabilities;
    if (this.#isStopping) return;
    for (const { name, reason } of failed) {
      this.#log.error({ checkType: name, reason }, 'a check type does not load here and is not offered');
    }
    if (loaded.length === 0)
      throw new Error('No check type could be loaded: there is nothing this agent can do');
    this.#poller = this.#createPoller();
    this.#poller.start();
    // In the background: no probe waits for sandboxes and runtimes to be looked through.
    void this.#scripts.start();
  }

  async #openSpool(): Promise<void> {
    await this.#spool.open();
    const { problem } = this.#spool.state;
    if (problem === undefined || !this.#settings.isSpoolRequired) return;
    throw new AppError('CONFIG_INVALID', `SPOOL_DIR cannot be used (${problem}), and SPOOL_REQUIRED is set`);
  }

  /** What all threads can run. */
  #capabilities(): Capabilities {
    const [probes, scripts] = [this.#pool.capabilities, this.#scripts.capabilities];
    return {
      ...scripts,
      loaded: [...probes.loaded, ...scripts.loaded],
      backends: { ...probes.backends, ...scripts.backends },
      failed: [...probes.failed, ...scripts.failed],
    };
  }

  #createPoller(): Poller {
    return new Poller({
      client: this.#client,
      dispatcher: this.#dispatcher,
      leaseKeeper: this.#leaseKeeper,
      clock: this.#clock,
      serviceClock: this.#serviceClock,
      log: this.#log,
      description: () => {
        const capabilities = this.#capabilities();
        return {
          version: packageVersion(),
          platform: `${process.platform}-${process.arch} node-${process.versions.node}`,
          runtimes: [...(capabilities.runtimes ?? [])],
          checkTypes: [...capabilities.loaded],
          ...claimedFacts(capabilities),
        };
      },
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
        reporter: this.#reporter,
        leaseKeeper: this.#leaseKeeper,
        spool: this.#spool,
        uploader: this.#uploader,
        client: this.#client,
        clock: this.#clock,
        log: this.#log,
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

  #finished(run: FinishedRun, slotAtMs: number | undefined): void {
    const { facts } = run;
    this.#metrics.runFinished(facts, slotAtMs);
    if (facts.crash) {
      this.#log.error({ runId: run.runId, checkType: facts.checkType, crash: facts.crash }, 'a runner broke');
      if (facts.crashError) this.#errorReporter?.report(Object.assign(new Error(), facts.crashError));
    }
    this.#warnOf(facts.unmaskedNames);
    this.#uploader.hold(run, run.artifacts);
    this.#reporter.add(run, facts.isAttempt ? 'attempt' : 'final');
  }

  #settled(waiting: WaitingReport, settlement: Settlement): void {
    const { report } = waiting;
    this.#leaseKeeper.drop(report);
    this.#metrics.resultSettled(settlement);
    if (this.#uploader.has(report)) this.#awaitingArtifacts.set(keyOf(report), waiting);
    else this.#spool.settle(waiting);
    if (settlement === 'accepted' || settlement === 'duplicate') this.#uploader.release(report);
    else this.#uploader.discard(report);
  }

  #artifactsGone(lease: LeaseRef): void {
    const waiting = this.#awaitingArtifacts.get(keyOf(lease));
    if (!waiting) return;
    this.#awaitingArtifacts.delete(keyOf(lease));
    this.#spool.settle(waiting);
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

  #notReadyReason(): string | undefined {
    if (this.#isStopping) return 'shutting down';
    if (!this.#poller) return 'starting: probe threads load';
    const { isConnected, problem } = this.#poller.status;
    return isConnected ? undefined : problem;
  }
}

function keyOf({ runId, leaseNumber }: LeaseRef): string {
  return `${runId}.${leaseNumber}`;
}
