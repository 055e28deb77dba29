import type { BrowserLinks } from '@picket/sandbox/browsers/browser-links.ts';
import type { BrowserLogin } from '@picket/sandbox/browsers/browser-login.ts';
import type { ScriptHost } from '@picket/sandbox/host/contract.ts';
import { missingRuntime, type Runtime } from '@picket/sandbox/runtimes/runtimes.ts';
import { SandboxUnavailable } from '@picket/sandbox/sandbox.ts';
import {
  isReadAtStart,
  type OpenedBrowsers,
  type ScriptProcess,
} from '@picket/sandbox/scripts/script-process.ts';
import { runScript, type ScriptReport, scriptFiles } from '@picket/sandbox/scripts/script-run.ts';
import { placeSnapshots, type Snapshot } from '@picket/sandbox/suites/snapshots.ts';
import type { ScriptTrust } from '@picket/sandbox/trust/script-trust.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { Outcome } from '../contract/outcome.ts';
import { toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { scriptProxyUrl } from '../http/location-proxy.ts';
import { judge } from '../judging/verdict.ts';
import { browserLogin } from '../kerberos/browser-tickets.ts';
import type { BrowserName } from '../tables/browsers.ts';
import { browsersOf } from './browsers/check-browsers.ts';
import { openedBrowsers } from './browsers/opened-browsers.ts';
import type { BrowserDetail, MultiStepDetail } from './detail.ts';
import { type Evidence, keepEvidence } from './evidence.ts';
import { scriptPages } from './pages.ts';
import type { BrowserSpec, ScriptSpec } from './spec.ts';
import { type ThrottlingDetail, throttlingDetail } from './throttling.ts';
import { judgeScript, type ScriptError, type ScriptVerdict, whyUnproven } from './verdict.ts';

const maxPageErrors = 200;
const maxBrowsers = 10;
const noEvidence: Evidence = { screenshots: [], videos: [], traces: [], report: null, snapshots: [] };

/** A finished run, in the form that both types share. */
interface ScriptRun {
  readonly verdict: ScriptVerdict;
  readonly report: ScriptReport | undefined;
  readonly evidence: Evidence;
  readonly runtimeId: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Runs a multi-step check: a script that sends requests, without a browser. */
export async function runMultiStepScript(
  spec: ScriptSpec,
  context: RunContext,
): Promise<Outcome<MultiStepDetail>> {
  const run = await runInSandbox(spec, context, { hasBrowser: false, browsers: [] });
  return outcome(run, spec, multiStepDetail(run, context));
}

/** Runs a browser check: a script that opens browsers of this host. */
export async function runBrowserScript(
  spec: BrowserSpec,
  context: RunContext,
): Promise<Outcome<BrowserDetail>> {
  const throttling = spec.throttling === null ? undefined : throttlingDetail(spec.throttling);
  const run = await runInSandbox(spec, context, {
    hasBrowser: true,
    browsers: browsersOf(spec),
    snapshots: spec.snapshots ?? [],
    throttling,
  });
  const findings = run.report?.findings ?? [];
  const count = (wanted: string) => findings.filter(({ kind }) => kind === wanted).length;
  return outcome(run, spec, {
    ...multiStepDetail(run, context),
    type: run.report?.mode === 'plain' ? 'PLAYWRIGHT' : 'PLAYWRIGHT_TEST',
    traceSummary: {
      consoleErrors: count('console'),
      networkErrors: count('network'),
      documentErrors: count('document'),
      userScriptErrors: run.verdict.errors.length,
    },
    pages: scriptPages(run.report?.pages ?? []),
    pageErrors: findings
      .flatMap(({ kind, message, url, at }) => (kind === 'agent' ? [] : [{ kind, message, url, time: at }]))
      .slice(0, maxPageErrors),
    playwrightTestVideos: run.evidence.videos,
    browsers: distinctBrowsers(run.report?.browsers ?? []),
    ...(throttling ? { throttling } : {}),
    ...(context.updatesSnapshots ? { snapshots: run.evidence.snapshots } : {}),
  });
}

async function runInSandbox(
  spec: ScriptSpec,
  context: RunContext,
  wants: {
    readonly hasBrowser: boolean;
    readonly browsers: readonly BrowserName[];
    readonly snapshots?: readonly Snapshot[];
    readonly throttling?: ThrottlingDetail | undefined;
  },
): Promise<ScriptRun> {
  const startedAt = Date.now();
  const deadlineMs = performance.now() + context.timeoutMs;
  const notRun = (failed: Failure): ScriptRun => ({
    verdict: withoutRun(failed),
    report: undefined,
    evidence: noEvidence,
    runtimeId: spec.runtimeId ?? '',
    startedAt,
    endedAt: Date.now(),
  });
  const { scripts } = context;
  if (context.signal.aborted) return notRun(stopFailure(context));
  if (!scripts)
    return notRun(failure('SANDBOX_UNAVAILABLE', 'Scripts cannot run on this agent: it has no sandbox'));
  const runtime = findRuntime(scripts, spec.runtimeId ?? context.runtimeId ?? null);
  if ('failure' in runtime) return notRun(runtime.failure);
  const browser = wants.hasBrowser ? scripts.browser : undefined;
  if (browser && 'missing' in browser) return notRun(failure('BROWSER_MISSING', browser.missing));
  const opened = await openedBrowsers(wants.browsers, scripts, runtime);
  if ('failure' in opened) return notRun(opened.failure);
  const located = scriptProxyUrl(context, wants);
  if ('failure' in located) return notRun(located.failure);

  const login = browser && (await browserLogin(context));
  let script: ScriptProcess;
  try {
    const isFresh = isReadAtStart(context.variables);
    // A browser that was started ahead is Chromium, and has no tickets.
    const hasBrowser = browser !== undefined && !login && opened.others.length === 0;
    script = await scripts.acquire({ runtime, isFresh, hasBrowser }, context.signal);
  } catch (thrown) {
    if (context.signal.aborted) return notRun(stopFailure(context));
    if (thrown instanceof SandboxUnavailable) return notRun(failure('SANDBOX_UNAVAILABLE', thrown.message));
    throw thrown;
  }
  try {
    const unfetched = await placeSnapshots(
      script.sandbox,
      scripts.suites,
      wants.snapshots ?? [],
      context.signal,
    );
    if (unfetched) {
      const code = unfetched.problem === 'missing' ? 'BUNDLE_INVALID' : 'BUNDLE_UNAVAILABLE';
      return notRun(context.signal.aborted ? stopFailure(context) : failure(code, unfetched.message));
    }
    return await runContained({
      spec,
      context,
      script,
      browser,
      opened,
      proxyUrl: located.proxyUrl,
      login,
      trust: scripts.trust,
      snapshots: wants.snapshots ?? [],
      throttling: wants.throttling,
      startedAt,
      deadlineMs,
    });
  } catch (thrown) {
    if (thrown instanceof SandboxUnavailable) return notRun(failure('SANDBOX_UNAVAILABLE', thrown.message));
    throw thrown;
  } finally {
    scripts.release(script);
  }
}

async function runContained(order: {
  readonly spec: ScriptSpec;
  readonly context: RunContext;
  readonly script: ScriptProcess;
  readonly browser: BrowserLinks | undefined;
  readonly opened: OpenedBrowsers;
  readonly proxyUrl: string | null;
  readonly login: BrowserLogin | undefined;
  readonly trust: ScriptTrust | undefined;
  readonly snapshots: readonly Snapshot[];
  readonly throttling: ThrottlingDetail | undefined;
  readonly startedAt: number;
  readonly deadlineMs: number;
}): Promise<ScriptRun> {
  const { spec, context, script, browser, proxyUrl, trust } = order;
  const { sandbox, runtime } = script;
  const entry = spec.scriptPath ?? 'script.ts';
  const files = scriptFiles({
    script: spec.script,
    entry,
    dependencies: spec.dependencies ?? [],
    snippets: context.snippets ?? [],
  });
  const report = await runScript(script, {
    entry,
    files,
    browser,
    opened: order.opened,
    login: order.login,
    trust,
    variables: { ...context.variables, RUNTIME_VERSION: runtime.id },
    playwrightConfig: spec.playwrightConfig,
    updatesSnapshots: context.updatesSnapshots ?? false,
    proxyUrl,
    throttling: order.throttling,
    timeoutMs: Math.max(1, order.deadlineMs - performance.now()),
    signal: context.signal,
    onOutput: (stream, line) => context.log.write(stream === 'stderr' ? 'ERROR' : 'INFO', line),
    onStart: (secretsSoFar) => context.allowLiveLog?.(secretsSoFar),
  });
  if (report.hasTooManySecrets) context.log.withdraw();
  for (const refusal of report.ended.refusedConnections ?? []) context.log.write('WARN', refusal);
  const verdict = judgeScript(
    report,
    context.timeoutMs,
    howStopped(context.signal),
    browser && order.opened.names,
  );
  for (const { message } of verdict.errors) context.log.write('ERROR', message);
  if (report.degraded) {
    context.log.write(
      'WARN',
      `Marked as degraded${report.degraded.reason === null ? '' : `: ${report.degraded.reason}`}`,
    );
  }
  const unproven = whyUnproven(report);
  if (unproven !== undefined) context.log.write('WARN', unproven);
  const evidence =
    context.artifacts && !context.signal.aborted && !report.hasTooManySecrets
      ? await keepEvidence({
          directory: sandbox.directory,
          tests: report.tests,
          ownFiles: new Set([...files.keys(), ...order.snapshots.map(({ path }) => path)]),
          areSnapshotsKept: context.updatesSnapshots ?? false,
          sink: context.artifacts,
        })
      : noEvidence;
  return {
    verdict,
    report,
    evidence,
    runtimeId: runtime.id,
    startedAt: order.startedAt,
    endedAt: Date.now(),
  };
}

/** A script may open the same one again and again. */
function distinctBrowsers(opened: ScriptReport['browsers']): { name: string; version: string }[] {
  const byText = new Map(
    opened.map(({ name, version }) => [`${name} ${version}`, { name, version }] as const),
  );
  return [...byText.values()].slice(0, maxBrowsers);
}

/** Returns the run's own runtime, or the newest of this host if the check names none. */
function findRuntime(
  { runtimes }: ScriptHost,
  wanted: string | null,
): Runtime | { readonly failure: Failure } {
  const id = wanted ?? runtimes.ids[0];
  const runtime = id === undefined ? undefined : runtimes.find(id);
  if (runtime) return runtime;
  const message = missingRuntime(id ?? '', runtimes);
  return { failure: failure('RUNTIME_MISSING', message) };
}

function outcome<Detail>(
  { verdict, report, startedAt, endedAt }: ScriptRun,
  spec: ScriptSpec,
  detail: Detail,
): Outcome<Detail> {
  const wholeMs = Math.max(0, endedAt - startedAt);
  // The script's own report is untrusted.
  const durationMs = report ? Math.min(scriptDurationMs(report), wholeMs) : wholeMs;
  const responseTimeMs = toMicroseconds(durationMs);
  const { degradedResponseTime, maxResponseTime } = spec;
  const inTime = judge({ responseTimeMs, degradedResponseTime, maxResponseTime, assertions: [] });
  const failed = verdict.failure ?? inTime.failure;
  return {
    failure: failed,
    responseTimeMs,
    isDegraded: failed === undefined && (verdict.isDegraded || inTime.isDegraded),
    overMaxResponseTime: maxResponseTime === null ? null : inTime.overMaxResponseTime,
    measurement: report && {
      clock: 'process',
      overheadMs: toMicroseconds(Math.max(0, endedAt - startedAt - durationMs)),
      lagMs: 0,
    },
    errorMessages: verdict.failure
      ? verdict.errorMessages
      : [...verdict.errorMessages, ...inTime.errorMessages],
    secrets: report?.secrets,
    peakMemoryBytes: report?.ended.peakMemoryBytes,
    detail,
  };
}

/**
 * Duration of the script itself: of its tests, or of the whole plain script; for an interrupted script, until the
 * interruption.
 */
function scriptDurationMs({ tests, end, mode, startedAt, ended }: ScriptReport): number {
  if (mode === 'test' && tests.length > 0) return tests.reduce((sum, { durationMs }) => sum + durationMs, 0);
  if (end) return end.durationMs;
  return startedAt === undefined ? ended.cpuMs : Math.max(0, Date.now() - startedAt);
}

function multiStepDetail(run: ScriptRun, { log }: RunContext): MultiStepDetail {
  const { report, verdict, evidence } = run;
  const titles = new Map(report?.tests.map(({ test, title }) => [test, title]));
  return {
    errors: verdict.errors.map(errorDetail),
    startTime: run.startedAt,
    endTime: run.endedAt,
    runtimeVersion: run.runtimeId,
    isMarkedDegraded: report?.degraded !== undefined,
    degradedReason: report?.degraded?.reason ?? (report && whyUnproven(report)) ?? null,
    tests: (report?.tests ?? []).map(({ title, status, startedAt, durationMs, didNotRun }) => ({
      title,
      status,
      startedAt,
      durationMs,
      ...(didNotRun ? { didNotRun } : {}),
    })),
    steps: (report?.steps ?? []).map(
      ({ test, title, category, depth, startedAt, durationMs, error, location }) => ({
        test: titles.get(test) ?? '',
        title,
        category,
        depth,
        startedAt,
        durationMs,
        error,
        location,
      }),
    ),
    peakMemoryBytes: report?.ended.peakMemoryBytes ?? 0,
    cpuMs: report?.ended.cpuMs ?? 0,
    jobLog: [...log.entries],
    jobAssets: evidence.screenshots,
    playwrightTestTraces: evidence.traces,
    playwrightTestJsonReportFile: evidence.report,
  };
}

function errorDetail({ name, message, stack, test }: ScriptError): MultiStepDetail['errors'][number] {
  return { name, message, stack, test };
}

function withoutRun(failed: Failure): ScriptVerdict {
  const error = { name: 'Error', message: failed.message, stack: null, test: null };
  return { failure: failed, isDegraded: false, errors: [error], errorMessages: [failed.message] };
}

function howStopped(signal: AbortSignal): 'aborted' | 'timed-out' | undefined {
  if (!signal.aborted) return undefined;
  return isTimeout(signal) ? 'timed-out' : 'aborted';
}

function stopFailure({ signal, timeoutMs }: RunContext): Failure {
  return isTimeout(signal)
    ? failure(
        'SCRIPT_TIMED_OUT',
        `The script exceeded the maximum run time of ${timeoutMs} ms before it could start`,
      )
    : failure('RUN_ABORTED', 'The run was stopped');
}

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}
