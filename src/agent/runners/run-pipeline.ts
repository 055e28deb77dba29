import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { CapabilityMissing, type Failure, failure, resultFlags } from '@picket/checks/contract/failure.ts';
import { lifecycleAllowanceMs } from '@picket/checks/contract/lifecycle.ts';
import type { LoadedRunner, Outcome } from '@picket/checks/contract/outcome.ts';
import type { ArtifactSink, RunContext } from '@picket/checks/contract/run-context.ts';
import type { RunLog } from '@picket/checks/contract/run-log.ts';
import { allEntries, createRunLog } from '@picket/checks/contract/run-log.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { unmaskableNames } from '@picket/checks/secrets/secret-finder.ts';
import { ThreadStarved } from '@picket/lib/bounds/cpu-limit.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import { HostResolver, systemFiles } from '@picket/probes/dns/host/host-resolver.ts';
import type { EgressPolicy } from '@picket/probes/egress/policy.ts';
import { maxEpochMs } from '@picket/protocol/http/query.ts';
import { ownReport } from '../delivery/agent-failure-report.ts';
import { ArtifactsOnDemand } from '../delivery/artifacts/artifacts-on-demand.ts';
import { RunArtifacts, sealLimitMs } from '../delivery/artifacts/run-artifacts.ts';
import { runFolder } from '../delivery/artifacts/run-folder.ts';
import { crashSite, privateMessage } from '../error-report/private-message.ts';
import type { RunTails } from '../live-log/run-tails.ts';
import type { FinishedRun, RunFacts, RunOrder, Verdict } from '../run/contracts.ts';
import { isRepeatable } from '../run/repeatable.ts';
import { withDeadline } from '../run/run-deadline.ts';
import type { StopSignal } from '../run/run-stop.ts';
import { credentialsInFiles } from '../scrub/files/credentials-in-files.ts';
import { KnownSpecs } from './known-specs.ts';
import type { LagMeter } from './lag/lag-meter.ts';
import { agentLag, isSpoilt, isTimingDoubtful, spoiltPart, starvedOutcome } from './lag/starvation.ts';
import { isDetailAlone, type RunScrubber, RunScrubbers, secretsSeen } from './run-scrubbers.ts';
import type { RunSituation, WorkerStart } from './threads/worker-protocol.ts';

const maxErrorMessages = 200;

type AnyRunner = LoadedRunner<Record<string, unknown>, unknown>;

/** A run in progress. */
interface Running {
  readonly order: RunOrder;
  readonly situation: RunSituation;
  readonly log: RunLog;
  readonly scrubbers: RunScrubber;
}

/** One try of a run: its outcome, its times, and how late the agent itself was. */
interface Try {
  readonly outcome: Outcome<unknown>;
  readonly startedMs: number;
  /** The same instant by the host's own clock, however wrong. */
  readonly hostStartedMs: number;
  readonly stoppedMs: number;
  readonly lagMs: number;
  readonly isSpoilt: boolean;
  /** Name and stack of the error if the runner crashed. */
  readonly crash: string | undefined;
  readonly crashError: RunFacts['crashError'];
  readonly artifacts: RunArtifacts | undefined;
}

/** Fields of a report if the runner returned no outcome. */
const noOutcome = { responseTimeMs: 0, isDegraded: null, overMaxResponseTime: null, detail: null };

/**
 * Processes one run from its order to the texts that are sent: validates the specification, calls the runner with its
 * deadline, determines the verdict, removes secrets, and writes JSON. All of this happens in the probe thread, so that
 * the main thread never handles large data. Never rejects: every error becomes a failure with an owner.
 *
 * If the agent's own lateness may have spoilt a run (see starvation.ts), the run is repeated once, immediately, if its
 * type permits that, with a new deadline and within the same lease. If it is spoilt again, or not repeatable, it does not
 * count against the target.
 */
export class RunPipeline {
  readonly #clock: Clock;
  readonly #lagMeter: LagMeter;
  readonly #egress: EgressPolicy;
  readonly #hosts: Pick<RunContext, 'scripts' | 'phases' | 'model' | 'kerberos'>;
  readonly #tails: RunTails | undefined;
  readonly #resolver: HostResolver;
  readonly #scrubbers: RunScrubbers;
  readonly #runners = new Map<string, Promise<AnyRunner>>();
  readonly #specs = new KnownSpecs();

  constructor(
    options: Pick<WorkerStart, 'ownSecrets'> & {
      readonly clock: Clock;
      readonly lagMeter: LagMeter;
      readonly egress: EgressPolicy;
      /** Runs scripts, and scripts around runs, in threads that can. */
      readonly hosts?: Pick<RunContext, 'scripts' | 'phases' | 'model' | 'kerberos'> | undefined;
      /** Where logs can be read while their runs go; absent if they cannot. */
      readonly tails?: RunTails | undefined;
    },
  ) {
    this.#clock = options.clock;
    this.#lagMeter = options.lagMeter;
    this.#scrubbers = new RunScrubbers(options.ownSecrets);
    const { egress } = options;
    this.#egress = egress;
    this.#resolver = new HostResolver(systemFiles, process.platform, (name) => egress.lookupRefusal(name));
    this.#hosts = options.hosts ?? {};
    this.#tails = options.tails;
  }

  /** The type's runner, loaded on first use and cached. */
  load(type: CheckType): Promise<AnyRunner> {
    let runner = this.#runners.get(type.name);
    if (!runner) {
      runner = loadRunner(type);
      this.#runners.set(type.name, runner);
    }
    return runner;
  }

  /** See `isRepeatable`. */
  isRepeatable(order: RunOrder): boolean {
    return isRepeatable(order, (type, spec) => this.#specs.read(type, spec));
  }

  /** @param signal aborts if the lease is lost or the run is cancelled. */
  async run(order: RunOrder, situation: RunSituation, signal: StopSignal): Promise<FinishedRun> {
    const log = createRunLog(() => epoch(this.#clock.monotonicMs() + situation.serviceOffsetMs));
    const scrubbers = this.#scrubbers.of(order);
    const closeTail = this.#tails?.open(order, log, (found) => scrubbers.with(found));
    try {
      return await this.#run({ order, situation, log, scrubbers }, signal);
    } finally {
      closeTail?.();
    }
  }

  async #run(running: Running, signal: StopSignal): Promise<FinishedRun> {
    const { order, situation, log, scrubbers } = running;
    const { serviceOffsetMs } = situation;
    let last = await this.#try(running, signal);
    let spoilt: RunFacts['spoilt'];
    if (last.isSpoilt && this.isRepeatable(order) && !signal.aborted) {
      const reason = `The agent itself was ${Math.round(last.lagMs)} ms late. The run is repeated because of that`;
      log.write('WARN', `${reason}: ${spoiltPart(last.outcome)}`);
      spoilt = 'recovered';
      await last.artifacts?.discard();
      last = await this.#try(running, signal);
    }
    let { outcome, crash } = last;
    if (last.isSpoilt) {
      spoilt = 'starved';
      outcome = starvedOutcome(outcome, last.lagMs);
    }
    const { startedMs, stoppedMs, artifacts } = last;
    const lagMs = round(last.lagMs);
    const limitMs = sealLimitMs[findCheckType(order.checkType)?.lane ?? 'probe'];
    const isAborted = outcome.failure?.code === 'RUN_ABORTED';
    const inFiles =
      isAborted || !artifacts
        ? []
        : await credentialsInFiles(await artifacts.rawPaths(), AbortSignal.timeout(limitMs));
    let found: readonly string[] = [];
    let scrubber = scrubbers.known;
    // Most runs have one text from outside, and a single search shows that it contains nothing to remove.
    const isSimple = inFiles.length === 0 && isDetailAlone(last.outcome, log);
    let detailJson = isSimple ? scrubber.cleanJson(outcome.detail) : undefined;
    const verdict = verdictOf(outcome);
    const isDoubtful = isTimingDoubtful(last.outcome, last.lagMs);
    const startDelayMs = round(Math.max(0, startedMs - order.receivedAtMs));
    if (detailJson === undefined) {
      found = [...new Set([...secretsSeen(last.outcome, log), ...inFiles])];
      scrubber = scrubbers.with(found);
      try {
        detailJson = scrubber.json(outcome.detail);
      } catch (thrown) {
        // A target's document can be nested too deeply to serialize. The verdict is kept without it.
        crash = crashSite(toError(thrown));
        detailJson = scrubber.json(null);
        outcome = {
          ...outcome,
          errorMessages: [...outcome.errorMessages, 'The detail could not be serialized.'],
        };
      }
    }
    if (isAborted) await artifacts?.discard();
    const sealed = isAborted
      ? undefined
      : await artifacts?.seal(scrubbers.forFiles(found), limitMs, scrubber);
    const facts: RunFacts = {
      checkType: order.checkType,
      verdict,
      isAborted,
      failureCode: outcome.failure?.code,
      isAttempt: order.mayBeRetried === true && outcome.failure !== undefined,
      startedAtMs: startedMs + serviceOffsetMs,
      startDelayMs,
      agentLagMs: lagMs,
      isTimingDoubtful: isDoubtful,
      spoilt,
      durationMs: stoppedMs - startedMs,
      endedAtMs: stoppedMs,
      peakMemoryBytes: last.outcome.peakMemoryBytes,
      crash,
      crashError: last.crashError,
      unmaskedNames: unmaskableNames(order.input.secretNames, order.input.variables),
    };
    const { runId, leaseNumber, resultId } = order;
    const ids = { runId, leaseNumber, resultId };
    const report = {
      ...ids,
      envelopeJson: scrubber.envelope({
        ...ids,
        startedAt: epoch(startedMs + serviceOffsetMs),
        stoppedAt: epoch(stoppedMs + serviceOffsetMs),
        hostStartedAt: epoch(last.hostStartedMs),
        responseTimeMs: outcome.responseTimeMs,
        startDelayMs,
        agentLagMs: lagMs,
        agentOverheadMs: round(outcome.measurement?.overheadMs ?? 0),
        isTimingDoubtful: isDoubtful,
        certificateExpiresAt: instantOrNull(outcome.certificateExpiresAt),
        isDegraded: outcome.isDegraded,
        overMaxResponseTime: outcome.overMaxResponseTime,
        failure: outcome.failure ?? null,
        errorMessages: outcome.errorMessages.slice(0, maxErrorMessages),
        ...(sealed ? { artifacts: [...sealed.reported] } : {}),
      }),
      detailJson,
      artifacts: sealed,
    };
    return {
      report,
      facts,
      log: order.isLogWanted ? scrubber.log(allEntries(log)) : undefined,
    };
  }

  /** The report of a run that was not started. */
  unstarted(order: RunOrder, { serviceOffsetMs }: RunSituation): FinishedRun {
    const { runId, leaseNumber, resultId, checkType } = order;
    const nowMs = this.#clock.monotonicMs() + serviceOffsetMs;
    const finished = ownReport(
      { runId, leaseNumber, resultId },
      { code: 'RUN_ABORTED', message: 'The run was stopped before it started.', checkType },
      { scrubber: this.#scrubbers.own, startedAtMs: nowMs, nowMs },
    );
    return { ...finished, facts: { ...finished.facts, isAborted: true, isUnstarted: true } };
  }

  async #try(running: Running, signal: StopSignal): Promise<Try> {
    const { order, situation, scrubbers } = running;
    const { artifactFolder } = situation;
    // The deadline of one try ends only that try.
    const stop = new AbortController();
    const abort = () => stop.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    const artifacts =
      artifactFolder === undefined
        ? undefined
        : new ArtifactsOnDemand(
            () => new RunArtifacts({ folder: runFolder(artifactFolder, order), scrubber: scrubbers.known }),
          );
    const lag = this.#lagMeter.start();
    const startedMs = this.#clock.monotonicMs();
    const hostStartedMs = this.#clock.wallMs();
    let outcome: Outcome<unknown>;
    let crash: string | undefined;
    let crashError: RunFacts['crashError'];
    try {
      outcome = await this.#outcome(running, artifacts, stop);
    } catch (thrown) {
      const error = toError(thrown);
      if (error instanceof ThreadStarved) {
        outcome = broken(failure('AGENT_STARVED', `${error.message}.`));
      } else {
        crash = crashSite(error);
        crashError = privateError(scrubbers, error);
        outcome = broken(failure('RUNNER_CRASHED', `The runner of the check failed: ${error.message}`));
      }
    }
    signal.removeEventListener('abort', abort);
    const stoppedMs = this.#clock.monotonicMs();
    const late = agentLag(outcome, lag.stop());
    const isLate = isSpoilt(outcome, { ...late, durationMs: stoppedMs - startedMs });
    return {
      outcome,
      startedMs,
      hostStartedMs,
      stoppedMs,
      lagMs: late.lagMs,
      isSpoilt: isLate,
      crash,
      crashError,
      artifacts: artifacts?.end(),
    };
  }

  async #outcome(
    { order, log, scrubbers }: Running,
    artifacts: ArtifactSink | undefined,
    stop: AbortController,
  ): Promise<Outcome<unknown>> {
    const type = findCheckType(order.checkType);
    if (!type) return broken(unsupported(`This agent does not know the check type ${order.checkType}.`));
    const spec = this.#specs.read(type, order.spec);
    if (!spec.success) {
      const problems = spec.error.issues
        .slice(0, 5)
        .map(({ path, message }) => `${path.join('.')}: ${message}`);
      return broken(unsupported(`This agent does not understand the check: ${problems.join('; ')}`));
    }
    let runner: AnyRunner;
    try {
      runner = await this.load(type);
    } catch (thrown) {
      if (thrown instanceof CapabilityMissing) return broken(thrown.failure);
      throw thrown;
    }
    const timeoutMs = (order.timeoutMs ?? type.timeoutMs) + lifecycleAllowanceMs(order.input.lifecycle);
    return await withDeadline(timeoutMs, stop, () =>
      runner.run(spec.data, {
        ...order.input,
        ...this.#hosts,
        mask: (text) => scrubbers.known.text(text),
        signal: stop.signal,
        timeoutMs,
        log,
        resolver: this.#resolver,
        egress: this.#egress,
        artifacts,
        allowLiveLog: (secretsSoFar) => this.#tails?.allow(order, secretsSoFar),
      }),
    );
  }
}

function privateError(scrubbers: RunScrubber, error: Error): RunFacts['crashError'] {
  const message = privateMessage(scrubbers.known.text(error.message));
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return { name: error.name, message, stack: [`${error.name}: ${message}`, ...frames].join('\n') };
}

async function loadRunner(type: CheckType): Promise<AnyRunner> {
  if (!type.load)
    throw new CapabilityMissing(unsupported(`Checks of type ${type.name} are not run by agents.`));
  return (await type.load()) as AnyRunner;
}

function broken(failed: Failure): Outcome<unknown> {
  return { ...noOutcome, failure: failed, errorMessages: [failed.message] };
}

function unsupported(message: string): Failure {
  return failure('CHECK_TYPE_UNSUPPORTED', `${message} Upgrade the agent.`);
}

function verdictOf(outcome: Outcome<unknown>): Verdict {
  const { hasErrors, hasFailures } = resultFlags(outcome.failure);
  if (hasErrors) return 'error';
  if (hasFailures) return 'failed';
  return outcome.isDegraded === true ? 'degraded' : 'passed';
}

/** Converts an instant to the protocol's range; certificates may contain any date. */
function instantOrNull(epochMs: number | undefined): number | null {
  return epochMs === undefined || Number.isNaN(epochMs) ? null : Math.min(epoch(epochMs), maxEpochMs);
}

function epoch(ms: number): number {
  return Math.max(0, Math.round(ms));
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
