import {
  type ArtifactSink,
  CapabilityMissing,
  type CheckType,
  type Outcome,
  type RunLog,
  type Runner,
} from '../checks/check-type.ts';
import { type Failure, failure, resultFlags } from '../checks/failure.ts';
import { findCheckType } from '../checks/index.ts';
import { maskedTexts } from '../checks/masking.ts';
import { createRunLog } from '../checks/run-log.ts';
import type { Clock } from '../lib/clock.ts';
import { toError } from '../lib/errors.ts';
import type { EgressPolicy } from '../probes/egress/policy.ts';
import { HostResolver } from '../probes/host-resolver.ts';
import { FileScrubber } from './artifacts/artifact-scrubber.ts';
import { RunArtifacts } from './artifacts/run-artifacts.ts';
import { runFolder } from './artifacts/work-folder.ts';
import { crashSite } from './crash-site.ts';
import { privateMessage } from './error-report/private-message.ts';
import type { LagMeter } from './lag-meter.ts';
import { credentialHeaderShapes } from './scrub/credential-header-shape.ts';
import { isMaskable, SecretFinder } from './scrub/secret-finder.ts';
import { Scrubber } from './scrubber.ts';
import type { FinishedRun, RunFacts, RunOrder, Verdict } from './worker-message.ts';

/** How long a runner may take to return once its deadline has passed, before it counts as broken. */
export const deadlineGraceMs = 5000;
const maxErrorMessages = 200;
const maxCachedScrubbers = 200;

type AnyRunner = Runner<Record<string, unknown>, unknown>;

/** What stands in a report where a runner gave no outcome. */
const noOutcome = { responseTimeMs: 0, isDegraded: null, overMaxResponseTime: null, detail: null };

/**
 * Takes one run from its order to the texts that are sent: specification checked, runner called with its deadline,
 * verdict, secrets removed, JSON written. All of it happens in the probe thread, so that the main thread never handles
 * anything large. Never rejects: whatever breaks becomes a failure with an owner.
 */
export class RunPipeline {
  readonly #clock: Clock;
  readonly #lagMeter: LagMeter;
  readonly #ownSecrets: readonly string[];
  readonly #egress: EgressPolicy;
  readonly #artifactFolder: string | undefined;
  readonly #resolver = new HostResolver();
  readonly #ownScrubber: Scrubber;
  readonly #scrubbers = new Map<string, Scrubber>();
  readonly #runners = new Map<string, Promise<AnyRunner>>();

  constructor(options: {
    readonly clock: Clock;
    readonly lagMeter: LagMeter;
    readonly ownSecrets: readonly string[];
    readonly egress: EgressPolicy;
    /** Where runs keep artifacts; they keep none when it is absent. */
    readonly artifactFolder?: string | undefined;
  }) {
    this.#clock = options.clock;
    this.#lagMeter = options.lagMeter;
    this.#ownSecrets = options.ownSecrets;
    this.#egress = options.egress;
    this.#artifactFolder = options.artifactFolder;
    this.#ownScrubber = new Scrubber(options.ownSecrets);
  }

  /** The type's runner, loaded on first use and kept. */
  load(type: CheckType): Promise<AnyRunner> {
    let runner = this.#runners.get(type.name);
    if (!runner) {
      runner = type.load() as Promise<AnyRunner>;
      this.#runners.set(type.name, runner);
    }
    return runner;
  }

  /**
   * @param serviceOffsetMs what to add to `monotonicMs` to get the service's time.
   * @param stop aborts when the lease is lost or the run is cancelled.
   */
  async run(order: RunOrder, serviceOffsetMs: number, stop: AbortController): Promise<FinishedRun> {
    const lag = this.#lagMeter.start();
    const startedMs = this.#clock.monotonicMs();
    const log = createRunLog(() => epoch(this.#clock.monotonicMs() + serviceOffsetMs));
    const scrubber = this.#scrubberFor(order);
    const artifacts =
      this.#artifactFolder === undefined
        ? undefined
        : new RunArtifacts({ folder: runFolder(this.#artifactFolder, order), scrubber });
    let outcome: Outcome<unknown>;
    let crash: string | undefined;
    let crashError: RunFacts['crashError'];
    try {
      outcome = await this.#outcome(order, log, artifacts, stop);
    } catch (thrown) {
      const error = toError(thrown);
      crash = crashSite(error);
      crashError = this.#privateError(order, error);
      outcome = broken(failure('RUNNER_CRASHED', `The check's runner broke: ${error.message}`));
    }
    const stoppedMs = this.#clock.monotonicMs();
    const agentLagMs = round(lag.stop());
    const verdict = verdictOf(outcome);
    const startDelayMs = round(Math.max(0, startedMs - order.receivedAtMs));
    let detailJson = scrubber.json(null);
    try {
      detailJson = scrubber.json(outcome.detail);
    } catch (thrown) {
      // A target's document can nest so deep that it cannot be written. The verdict stands without it.
      crash = crashSite(toError(thrown));
      outcome = { ...outcome, errorMessages: [...outcome.errorMessages, 'The detail could not be written.'] };
    }
    const isAborted = outcome.failure?.code === 'RUN_ABORTED';
    if (isAborted) await artifacts?.discard();
    const sealed = isAborted ? undefined : await artifacts?.seal(this.#fileScrubberFor(order));
    const facts: RunFacts = {
      checkType: order.checkType,
      verdict,
      isAborted,
      startedAtMs: startedMs + serviceOffsetMs,
      startDelayMs,
      agentLagMs,
      durationMs: stoppedMs - startedMs,
      crash,
      crashError,
      unmaskedNames: order.secretNames.filter((name) => {
        const value = order.variables[name];
        return value !== undefined && value !== '' && !isMaskable(value);
      }),
    };
    return {
      runId: order.runId,
      leaseNumber: order.leaseNumber,
      resultId: order.resultId,
      envelopeJson: scrubber.envelope({
        resultId: order.resultId,
        runId: order.runId,
        leaseNumber: order.leaseNumber,
        startedAt: epoch(startedMs + serviceOffsetMs),
        stoppedAt: epoch(stoppedMs + serviceOffsetMs),
        responseTimeMs: outcome.responseTimeMs,
        startDelayMs,
        agentLagMs,
        isDegraded: outcome.isDegraded,
        overMaxResponseTime: outcome.overMaxResponseTime,
        failure: outcome.failure ?? null,
        errorMessages: outcome.errorMessages.slice(0, maxErrorMessages),
        ...(sealed ? { artifacts: [...sealed.reported] } : {}),
      }),
      detailJson,
      facts,
      artifacts: sealed,
      log: order.isLogWanted
        ? log.entries.map((entry) => ({ ...entry, msg: scrubber.text(entry.msg) }))
        : undefined,
    };
  }

  async #outcome(
    order: RunOrder,
    log: RunLog,
    artifacts: ArtifactSink | undefined,
    stop: AbortController,
  ): Promise<Outcome<unknown>> {
    const type = findCheckType(order.checkType);
    if (!type) return broken(unsupported(`This agent does not know the check type ${order.checkType}.`));
    const spec = type.spec.safeParse(order.spec);
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
    const timeoutMs = order.timeoutMs ?? type.timeoutMs;
    return await withDeadline(timeoutMs, stop, () =>
      runner(spec.data, {
        signal: stop.signal,
        timeoutMs,
        log,
        variables: order.variables,
        proxyUrl: order.proxyUrl,
        clientCertificates: order.clientCertificates,
        resolver: this.#resolver,
        egress: this.#egress,
        artifacts,
      }),
    );
  }

  #privateError(order: RunOrder, error: Error): RunFacts['crashError'] {
    const message = privateMessage(this.#scrubberFor(order).text(error.message));
    const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
    return { name: error.name, message, stack: [`${error.name}: ${message}`, ...frames].join('\n') };
  }

  /** Files hold headers in forms of their own (HAR, logs), which a report's own fields do not. */
  #fileScrubberFor(order: RunOrder): FileScrubber {
    const secrets = [...this.#ownSecrets, ...secretsOf(order)];
    return new FileScrubber(() => new SecretFinder(secrets, credentialHeaderShapes()));
  }

  /** Checks share secrets and repeat, so scrubbers are kept; the oldest makes room. */
  #scrubberFor(order: RunOrder): Scrubber {
    const secrets = secretsOf(order);
    if (secrets.length === 0) return this.#ownScrubber;
    const key = JSON.stringify(secrets);
    let scrubber = this.#scrubbers.get(key);
    if (!scrubber) {
      const [oldest] = this.#scrubbers.keys();
      if (oldest !== undefined && this.#scrubbers.size >= maxCachedScrubbers) this.#scrubbers.delete(oldest);
      scrubber = new Scrubber([...this.#ownSecrets, ...secrets]);
      this.#scrubbers.set(key, scrubber);
    }
    return scrubber;
  }
}

/**
 * Runs with a deadline that counts from now: at the deadline the signal aborts with a TimeoutError; a runner that still
 * does not return is given up as broken, so that it cannot hold its place in the lane for ever.
 */
async function withDeadline<T>(timeoutMs: number, stop: AbortController, run: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      stop.abort(new DOMException(`The deadline of ${timeoutMs} ms has passed`, 'TimeoutError'));
      timer = setTimeout(
        () => reject(new Error(`it did not end at its deadline of ${timeoutMs} ms`)),
        deadlineGraceMs,
      );
    }, timeoutMs);
  });
  try {
    return await Promise.race([run(), deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** What a run was given and must not show: secret variables, the proxy's password, keys of client certificates. */
function secretsOf(order: RunOrder): string[] {
  const secrets = order.secretNames.flatMap((name) => order.variables[name] ?? []);
  const password = order.proxyUrl === null ? '' : (URL.parse(order.proxyUrl)?.password ?? '');
  if (password !== '') secrets.push(password, decodeURIComponentSafely(password));
  for (const { key, passphrase } of order.clientCertificates) secrets.push(key, passphrase ?? '');
  secrets.push(...maskedTexts(findCheckType(order.checkType)?.masked ?? [], order.spec));
  return secrets;
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (thrown) {
    if (thrown instanceof URIError) return text;
    throw thrown;
  }
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

function epoch(ms: number): number {
  return Math.max(0, Math.round(ms));
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
