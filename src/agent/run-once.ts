import { hasScripts, type Lifecycle } from '@picket/checks/contract/lifecycle.ts';
import type { LogEntry } from '@picket/checks/contract/run-log.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { KerberosSettings } from '@picket/checks/kerberos/settings.ts';
import type { ModelAccess } from '@picket/checks/model/access.ts';
import { systemClock } from '@picket/lib/clock.ts';
import { createLogger } from '@picket/lib/log.ts';
import type { ClientCertificateMaterial, ResultReport } from '@picket/protocol/agent/agent.ts';
import type { ScriptHostSettings } from '@picket/sandbox/host/settings.ts';
import type { z } from 'zod';
import { packagedRuntimes } from './config.ts';
import { type OwnProblem, ownReport } from './delivery/agent-failure-report.ts';
import type { SecretReferences } from './references/secret-references.ts';
import type { Executor, FinishedRun, RunOrder, SealedArtifact } from './run/contracts.ts';
import { withSecrets } from './run/run-secrets.ts';
import { ProbePool } from './runners/probe/probe-pool.ts';
import { ScriptPool } from './runners/script/script-pool.ts';
import { wholeReport } from './scrub/report-texts.ts';
import { Scrubber } from './scrub/scrubber.ts';

export interface OnceOptions {
  readonly checkType: string;
  /** Fields of the check type, as its schema accepts them. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly variables?: Readonly<Record<string, string>> | undefined;
  /** Names of the variables that are secret and must not appear in the report. */
  readonly secretNames?: readonly string[] | undefined;
  /** Scripts before and after the run, for types that support them. */
  readonly lifecycle?: Lifecycle | undefined;
  /** Runtime of these scripts; defaults to the newest. */
  readonly runtimeId?: string | undefined;
  readonly proxyUrl?: string | null | undefined;
  readonly clientCertificates?: readonly z.output<typeof ClientCertificateMaterial.schema>[] | undefined;
  /** Time limit of the run in milliseconds; defaults to that of the check type. */
  readonly timeoutMs?: number | undefined;
  /** Folder for the run's artifacts; without it the run keeps none. */
  readonly artifactFolder?: string | undefined;
  /** Folder with the runtimes of scripts; defaults to those of this build. */
  readonly runtimesDirectory?: string | undefined;
  /** Custom CA certificates that the run trusts, as PEM texts. */
  readonly caCertificates?: readonly string[] | undefined;
  /** Path of the browser for scripts; see find-browser.ts. */
  readonly chromiumPath?: string | undefined;
  /** The setting BROWSERS_DIR. */
  readonly browsersDirectory?: string | undefined;
  /** Model that the run may use. */
  readonly model?: ModelAccess | undefined;
  /** Kerberos identity with which requests log in. */
  readonly kerberos?: KerberosSettings | undefined;
  /** Archive of a suite that the spec references by key. */
  readonly codeBundle?: { readonly key: string; readonly path: string } | undefined;
  /** Secrets whose values live elsewhere. */
  readonly references?: SecretReferences | undefined;
  /** Stops the run, which is then reported as aborted. */
  readonly signal?: AbortSignal | undefined;
}

export interface OnceResult {
  readonly report: ResultReport;
  readonly log: readonly LogEntry[];
  /** The artifacts of the run, in `artifactFolder`. */
  readonly files: readonly SealedArtifact[];
}

/**
 * Runs one check locally, in a thread like the agent's own (a script in a sandbox), and returns the report that the
 * agent would send.
 *
 * @throws ThreadEnded if the thread that runs it dies.
 */
export async function runCheckOnce(options: OnceOptions): Promise<OnceResult> {
  const common = {
    clock: systemClock,
    log: createLogger('picket', 'silent'),
    ownSecrets: options.model?.apiKey === undefined ? [] : [options.model.apiKey],
    serviceOffsetMs: () => systemClock.wallMs() - systemClock.monotonicMs(),
    artifactFolder: () => options.artifactFolder,
    kerberos: options.kerberos,
  };
  const isScript = findCheckType(options.checkType)?.lane === 'script';
  const scripts =
    isScript || hasScripts(options.lifecycle)
      ? new ScriptPool({
          ...common,
          scripts: () => scriptSettings(options),
          codeBundle: options.codeBundle,
          model: options.model,
        })
      : undefined;
  const probes = new ProbePool({
    ...common,
    threadCount: 1,
    caCertificates: () => options.caCertificates ?? [],
    lifecycleScriptPort: () => scripts?.openLifecycleScriptPort(),
  });
  const pools = [scripts, ...(isScript ? [] : [probes])].filter((pool) => pool !== undefined);
  const executor: Executor = (isScript && scripts) || probes;
  try {
    // Scripts first: probe threads get their port to the script thread when they start.
    for (const pool of pools) await pool.start();
    const order = orderOf(options);
    const { order: complete, unavailable } = options.references
      ? await withSecrets(order, { references: options.references, literal: {} })
      : { order };
    const finished = unavailable
      ? unavailableReport(order, unavailable)
      : await executor.run(complete, options.signal ?? new AbortController().signal);
    const report = JSON.parse(wholeReport(finished.report)) as ResultReport;
    return { report, log: finished.log ?? [], files: finished.report.artifacts?.files ?? [] };
  } finally {
    for (const pool of pools) await pool.stop();
  }
}

function orderOf(options: OnceOptions): RunOrder {
  return {
    runId: crypto.randomUUID(),
    leaseNumber: 1,
    resultId: crypto.randomUUID(),
    checkType: options.checkType,
    spec: options.spec,
    input: {
      variables: options.variables ?? {},
      secretNames: options.secretNames ?? [],
      proxyUrl: options.proxyUrl ?? null,
      clientCertificates: options.clientCertificates ?? [],
      lifecycle: options.lifecycle,
      runtimeId: options.runtimeId,
    },
    receivedAtMs: systemClock.monotonicMs(),
    timeoutMs: options.timeoutMs,
    isLogWanted: true,
  };
}

/** The report of a run that lacks a secret, whose message is clean already. */
function unavailableReport(order: RunOrder, problem: Omit<OwnProblem, 'code' | 'checkType'>): FinishedRun {
  const nowMs = systemClock.wallMs();
  return ownReport(
    order,
    { code: 'SECRET_UNAVAILABLE', checkType: order.checkType, ...problem },
    { scrubber: new Scrubber([]), startedAtMs: nowMs, nowMs },
  );
}

/** The scripts are the user's own, so a host without containment is acceptable. */
function scriptSettings(options: OnceOptions): ScriptHostSettings {
  return {
    directory: `/var/tmp/picket-scripts-${process.getuid?.() ?? 0}`,
    runtimesDirectory: options.runtimesDirectory ?? packagedRuntimes,
    chromiumPath: options.chromiumPath,
    browsersDirectory: options.browsersDirectory,
    caCertificates: options.caCertificates,
    browserLoginServers: options.kerberos?.browserServers,
    scriptCount: 1,
    lifecycleCount: 1,
    isUnisolatedAllowed: true,
    privatePaths: options.artifactFolder === undefined ? [] : [options.artifactFolder],
    hasWarmProcesses: false,
    suites: { cacheMaxBytes: 0 },
  };
}
