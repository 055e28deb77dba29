import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { toError } from '@picket/lib/errors.ts';
import { type Sandbox, SandboxUnavailable } from '@picket/sandbox/sandbox.ts';
import { BundleMissing, type SuiteHost } from '@picket/sandbox/suites/suite-host.ts';
import type { SuiteJob, SuiteReport } from '@picket/sandbox/suites/suite-job.ts';
import { runSuite } from '@picket/sandbox/suites/suite-run.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { Outcome } from '../contract/outcome.ts';
import { toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { scriptProxyUrl } from '../http/location-proxy.ts';
import { browserLogin } from '../kerberos/browser-tickets.ts';
import { howToInstall } from '../tables/browsers.ts';
import type { PlaywrightDetail } from './detail.ts';
import { keepSuiteEvidence, noSuiteEvidence, type SuiteEvidence } from './evidence.ts';
import type { PlaywrightSpec } from './spec.ts';
import { because, judgeSuite, type SuiteLimits, type SuiteVerdict } from './verdict.ts';

const maxInstallMs = 5 * 60_000;
const maxTestMs = 30 * 60_000;
const maxListedTests = 1000;

/** A finished run. */
interface SuiteRun {
  readonly verdict: SuiteVerdict;
  readonly report: SuiteReport | undefined;
  readonly evidence: SuiteEvidence;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Runs a Playwright suite: a whole project of the customer, with its own Playwright and its own dependencies. */
export async function runPlaywrightSuite(
  spec: PlaywrightSpec,
  context: RunContext,
): Promise<Outcome<PlaywrightDetail>> {
  const startedAt = Date.now();
  const notRun = (failed: Failure): Outcome<PlaywrightDetail> => {
    const verdict = because(failed);
    return outcome(
      { verdict, report: undefined, evidence: noSuiteEvidence, startedAt, endedAt: Date.now() },
      context,
    );
  };
  const { scripts, signal } = context;
  if (signal.aborted) return notRun(stopFailure(context));
  if (!scripts)
    return notRun(failure('SANDBOX_UNAVAILABLE', 'Suites cannot run on this agent: it has no sandbox'));
  const { suites } = scripts;
  if ('missing' in suites) {
    const message = `This agent is not set up for Playwright suites: ${suites.missing}`;
    return notRun(failure('SANDBOX_UNAVAILABLE', message));
  }
  const { browser, otherBrowsers } = scripts;
  const isNamed = ({ name }: { readonly name: string }) => spec.browsers.some((wanted) => wanted === name);
  const absent = spec.browsers.filter(
    (wanted) => wanted !== 'chromium' && !otherBrowsers.some(({ name }) => name === wanted),
  );
  if (absent.length > 0) {
    const message = `This agent has no ${absent.join(' and no ')}: ${howToInstall(absent)}`;
    return notRun(failure('BROWSER_MISSING', message));
  }
  const isBrowserWanted = spec.browsers.length > 0;
  if (spec.browsers.includes('chromium') && 'missing' in browser)
    return notRun(failure('BROWSER_MISSING', browser.missing));
  const located = scriptProxyUrl(context, { hasBrowser: isBrowserWanted });
  if ('failure' in located) return notRun(located.failure);

  let sandbox: Sandbox | undefined;
  try {
    sandbox = await scripts.acquireSandbox(signal);
    const bundle = await openBundle(suites, spec.codeBundlePath, signal);
    if ('code' in bundle) return notRun(bundle);
    const run = await runContained(spec, context, {
      sandbox,
      suites,
      bundle,
      proxyUrl: located.proxyUrl,
      browser: 'missing' in browser ? undefined : browser,
      login: spec.browsers.includes('chromium') ? await browserLogin(context) : undefined,
      otherBrowsers: otherBrowsers.filter(isNamed),
      startedAt,
    });
    return outcome(run, context);
  } catch (thrown) {
    if (signal.aborted) return notRun(stopFailure(context));
    if (thrown instanceof SandboxUnavailable) return notRun(failure('SANDBOX_UNAVAILABLE', thrown.message));
    throw thrown;
  } finally {
    // The result need not wait for the removal of the folder.
    void sandbox?.release();
  }
}

async function openBundle(suites: SuiteHost, key: string, signal: AbortSignal): Promise<Readable | Failure> {
  try {
    return await suites.bundles.open(key, signal);
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    if (thrown instanceof BundleMissing) {
      return failure('BUNDLE_INVALID', `${thrown.message}: upload it, and give the check its key`);
    }
    return failure('BUNDLE_UNAVAILABLE', `The code bundle could not be fetched: ${toError(thrown).message}`);
  }
}

async function runContained(
  spec: PlaywrightSpec,
  context: RunContext,
  place: {
    readonly sandbox: Sandbox;
    readonly suites: SuiteHost;
    readonly bundle: Readable;
    readonly proxyUrl: string | null;
    readonly browser: SuiteJob['browser'];
    readonly login: SuiteJob['login'];
    readonly otherBrowsers: SuiteJob['otherBrowsers'];
    readonly startedAt: number;
  },
): Promise<SuiteRun> {
  const { sandbox, suites, bundle, proxyUrl, browser, login, otherBrowsers, startedAt } = place;
  const limits: SuiteLimits = {
    installTimeoutMs: Math.min(maxInstallMs, context.timeoutMs),
    testTimeoutMs: Math.min(maxTestMs, context.timeoutMs),
  };
  // Only tests can declare secrets.
  context.allowLiveLog?.(async () => []);
  const report = await runSuite(sandbox, {
    bundle,
    browser,
    login,
    otherBrowsers,
    host: { ...suites, trust: context.scripts?.trust },
    engine: spec.engine ?? 'node',
    engineVersion: spec.engineVersion,
    workingDirectory: posix.normalize(spec.workingDir ?? '.').replace(/(?<=.)\/+$/, ''),
    installCommand: spec.installCommand.trim() === '' ? null : spec.installCommand,
    testCommand: spec.testCommand,
    cacheHash: spec.cacheHash,
    variables: context.variables,
    proxyUrl,
    ...limits,
    signal: context.signal,
    onLine: (stage, stream, line) => {
      // Package managers report progress on stderr.
      context.log.write(stream === 'stderr' ? (stage === 'install' ? 'WARN' : 'ERROR') : 'INFO', line);
    },
    onTestStart: (secretsSoFar) => context.allowLiveLog?.(secretsSoFar),
    onStage: (message) => context.log.write('INFO', message),
  });
  const hasSecretsLeft = report.stage === 'test' && report.hasTooManySecrets;
  if (hasSecretsLeft) context.log.withdraw();
  const refused = 'ended' in report ? (report.ended?.refusedConnections ?? []) : [];
  for (const refusal of refused) context.log.write('WARN', refusal);
  const verdict = context.signal.aborted ? because(stopFailure(context)) : judgeSuite(report, limits);
  const evidence =
    report.stage === 'test' && context.artifacts && !context.signal.aborted && !hasSecretsLeft
      ? await keepSuiteEvidence({
          directory: sandbox.directory,
          tests: report.tests,
          sink: context.artifacts,
        })
      : noSuiteEvidence;
  return { verdict, report, evidence, startedAt, endedAt: Date.now() };
}

function outcome(run: SuiteRun, { log }: RunContext): Outcome<PlaywrightDetail> {
  const { verdict, report, evidence, startedAt, endedAt } = run;
  const tested = report?.stage === 'test' ? report : undefined;
  for (const { error } of verdict.errors) log.write('ERROR', error.message);
  const wholeMs = Math.max(0, endedAt - startedAt);
  return {
    failure: verdict.failure,
    // The suite's own report is untrusted.
    responseTimeMs: toMicroseconds(Math.min(testDurationMs(tested) ?? wholeMs, wholeMs)),
    isDegraded: null,
    overMaxResponseTime: null,
    errorMessages: verdict.errorMessages,
    secrets: tested?.secrets,
    peakMemoryBytes: peakMemoryOf(report),
    detail: {
      errors: [...verdict.errors],
      stats: statsOf(tested),
      tests: (tested?.tests ?? []).slice(0, maxListedTests).map((test) => ({
        title: test.title,
        file: test.file,
        projectName: test.project,
        suitePath: test.suitePath,
        status: test.status,
        retry: test.retry,
        durationMs: test.durationMs,
        ...(test.didNotRun ? { didNotRun: true } : {}),
      })),
      startTime: startedAt,
      endTime: endedAt,
      playwrightVersion: tested?.playwrightVersion ?? null,
      packageManager: tested?.install.manager ?? null,
      install: tested ? { source: tested.install.source, durationMs: tested.install.durationMs } : null,
      peakMemoryBytes: peakMemoryOf(report) ?? 0,
      cpuMs: tested?.ended.cpuMs ?? 0,
      jobLog: [...log.entries],
      jobAssets: evidence.screenshots,
      playwrightTestVideos: evidence.videos,
      playwrightTestTraces: evidence.traces,
      playwrightTestJsonReportFile: evidence.report,
    },
  };
}

type Tested = Extract<SuiteReport, { stage: 'test' }> | undefined;

/** Duration of Playwright's own runs, without installation and startup. */
function testDurationMs(tested: Tested): number | undefined {
  if (!tested) return undefined;
  if (tested.ends.length === 0) return tested.durationMs;
  return tested.ends.reduce((sum, { durationMs }) => sum + durationMs, 0);
}

/** Peak of the last step: installing takes less memory than testing. */
function peakMemoryOf(report: SuiteReport | undefined): number | undefined {
  return report && 'ended' in report ? report.ended.peakMemoryBytes : undefined;
}

function statsOf(tested: Tested): PlaywrightDetail['stats'] {
  if (!tested || tested.ends.length === 0) return null;
  const stats = { expected: 0, unexpected: 0, flaky: 0, skipped: 0 };
  for (const { outcomes } of tested.ends) {
    for (const name of Object.keys(stats) as (keyof typeof stats)[]) stats[name] += outcomes[name];
  }
  return stats;
}

function stopFailure({ signal, timeoutMs }: RunContext): Failure {
  const { reason } = signal;
  return reason instanceof DOMException && reason.name === 'TimeoutError'
    ? failure('SCRIPT_TIMED_OUT', `The suite exceeded the maximum run time of ${timeoutMs} ms`)
    : failure('RUN_ABORTED', 'The run was stopped');
}
