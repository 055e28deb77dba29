import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { endingOf } from '@picket/lib/text.ts';
import type { BrowserLinks } from '../browsers/browser-links.ts';
import { type BrowserLogin, placeBrowserLogin } from '../browsers/browser-login.ts';
import type { SandboxedEnd } from '../sandbox.ts';
import type { ScriptTrust } from '../trust/script-trust.ts';
import {
  type ReportedBrowser,
  type ReportedError,
  type ReportedFinding,
  type ReportedPage,
  type ReportedStep,
  type ReportedTest,
  RunEvent,
  RunNote,
  readLine,
  saidWith,
} from './events.ts';
import { type LeftNotes, leftNotes, RunningSecrets } from './notes.ts';
import { OutputLines } from './output-lines.ts';
import {
  allowBrowsers,
  browserArgs,
  browserVariables,
  earlyFolderOf,
  notesFile,
  type OpenedBrowsers,
  privateFolder,
  proxyOf,
  type ScriptProcess,
} from './script-process.ts';

/** Limits of a network; null is not limited. */
interface Throttling {
  readonly downloadKbps: number | null;
  readonly uploadKbps: number | null;
  readonly latencyMs: number | null;
}

/** One script to run. */
export interface ScriptJob {
  /** Path of the script as given; Playwright may run it under another extension. */
  readonly entry: string;
  /** All files by their path below the run's folder, including the entry. */
  readonly files: ReadonlyMap<string, string>;
  readonly variables: Readonly<Record<string, string>>;
  /** The host's browser; absent if the script may not open any. */
  readonly browser?: BrowserLinks | undefined;
  /** The browsers that it opens; Chromium alone if absent. */
  readonly opened?: OpenedBrowsers | undefined;
  /** Tickets with which they log in. */
  readonly login?: BrowserLogin | undefined;
  /** Custom CA certificates that its browsers trust. */
  readonly trust?: ScriptTrust | undefined;
  readonly proxyUrl: string | null;
  /** The check's own settings of Playwright Test. */
  readonly playwrightConfig?: Readonly<Record<string, unknown>> | null;
  /** A slower network for its browsers. Kilobits per second and milliseconds; null is not limited. */
  readonly throttling?: Throttling | undefined;
  /** Regenerates the snapshots that the script compares with. */
  readonly updatesSnapshots?: boolean;
  /** Time until the script is killed, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with every line of the script's output, without its terminator. */
  readonly onOutput: (stream: 'stdout' | 'stderr', line: string) => void;
  /**
   * Called before the script starts, with a function for its run: it returns the values that the script has assigned to
   * secret variables so far, or undefined if some are unknown.
   */
  readonly onStart?: (secrets: () => Promise<readonly string[] | undefined>) => void;
}

/** The events of a run, and how it ended. */
export interface ScriptReport {
  /** Undefined if the run ended before it reported its mode. */
  readonly mode: 'test' | 'plain' | undefined;
  readonly startedAt: number | undefined;
  readonly end: { readonly status: string; readonly durationMs: number; readonly at: number } | undefined;
  readonly testCount: number | undefined;
  readonly tests: readonly ReportedTest[];
  readonly steps: readonly ReportedStep[];
  /** Errors outside of any test. */
  readonly errors: readonly ReportedError[];
  /** The error of our own program in the sandbox, before the script could do anything. */
  readonly broken: ReportedError | undefined;
  readonly findings: readonly ReportedFinding[];
  readonly pages: readonly ReportedPage[];
  /** Every browser that it opened. */
  readonly browsers: readonly ReportedBrowser[];
  readonly degraded: { readonly reason: string | null } | undefined;
  readonly softFailureCount: number;
  /** A failing `process.exitCode` set by tests, which Playwright ignores. */
  readonly testExitCode: number | undefined;
  /** Values that the script assigned to `SERVICE_SECRET_*` variables; they must not leave the agent. */
  readonly secrets: readonly string[];
  /** True if there are more secrets than can be masked; the report then contains no output. */
  readonly hasTooManySecrets: boolean;
  readonly ended: SandboxedEnd;
  /** True if it was interrupted because its time was nearly over. */
  readonly isInterrupted: boolean;
  /** The last part of Playwright's own output outside of tests. */
  readonly runnerOutput: string;
}

const maxTests = 500;
const maxSteps = 1000;
const maxErrors = 100;
const maxNoteBytes = 8 * 1024 * 1024;
const maxRunnerOutputLength = 4096;
const maxEarlyLines = 500;
/** The time limit of a test that sets no limit itself: Playwright's own default. */
const testTimeoutMs = 30_000;
/** Longest interval between the steps of an end: Playwright's own end, an interruption, and the kill. */
const maxGraceMs = 5000;

/**
 * Runs one script in a process that waits for it. A script that takes too long is ended in three steps, to preserve as
 * much evidence as possible: Playwright stops by itself a little before the limit, then it is interrupted, and at the
 * limit everything is killed.
 */
export async function runScript(script: ScriptProcess, job: ScriptJob): Promise<ScriptReport> {
  const { sandbox, process: running } = script;
  const deadlineMs = performance.now() + job.timeoutMs;
  for (const [path, content] of job.files) await sandbox.write(path, content);
  if (job.browser) await allowBrowsers(script, job.browser, job.trust, job.opened);
  if (job.login) await placeBrowserLogin(sandbox, job.login);

  const timeoutMs = Math.max(1, Math.ceil(deadlineMs - performance.now()));
  const graceMs = Math.min(maxGraceMs, timeoutMs * 0.1);
  const token = randomUUID();
  const transcript = new RunTranscript(token, job.onOutput);
  script.listen({
    onOutput: (stream, chunk) => transcript.output(stream, chunk),
    onEvent: (line) => transcript.line(line),
  });
  const secrets = new RunningSecrets(sandbox, notesFile);
  job.onStart?.(async () => {
    const noted = await secrets.soFar();
    return noted && assigned(noted, job.variables);
  });
  const kill = () => running.kill();
  job.signal.addEventListener('abort', kill);
  if (job.signal.aborted) kill();
  let isInterrupted = false;
  const interruption = setTimeout(() => {
    isInterrupted = true;
    running.interrupt();
  }, timeoutMs - graceMs);
  let isOvertime = false;
  const limit = setTimeout(() => {
    isOvertime = true;
    running.kill();
  }, timeoutMs);
  const order = { token, ...launchJob(script, job, timeoutMs - 2 * graceMs) };
  running.input.end(`${JSON.stringify(order)}\n`);
  const ended = await running.ended;
  secrets.end();
  clearTimeout(limit);
  clearTimeout(interruption);
  job.signal.removeEventListener('abort', kill);
  const notes = await leftNotes(sandbox.directory, notesFile, maxNoteBytes);
  return transcript.report(isOvertime && ended.reason === 'killed' ? { ...ended, reason: 'wall' } : ended, {
    isInterrupted,
    notes,
    given: job.variables,
  });
}

/** For src/sandbox/program/observers/throttling.cjs: parameters of Network.emulateNetworkConditions, in bytes. */
function throttlingVariables(throttling: Throttling | undefined): Record<string, string> {
  if (!throttling) return {};
  const bytes = (kbps: number | null) => (kbps === null ? -1 : (kbps * 1000) / 8);
  const conditions = {
    latency: throttling.latencyMs ?? 0,
    downloadThroughput: bytes(throttling.downloadKbps),
    uploadThroughput: bytes(throttling.uploadKbps),
  };
  return { PICKET_THROTTLING: JSON.stringify(conditions) };
}

/** The job for src/sandbox/program/run/launch.cjs. */
function launchJob({ sandbox }: ScriptProcess, job: ScriptJob, globalTimeoutMs: number) {
  const { directory } = sandbox;
  return {
    directory,
    privateDirectory: join(directory, privateFolder),
    entry: job.entry,
    sources: [...job.files.keys()].filter((path) => /\.[cm]?[jt]sx?$/.test(path)),
    variables: job.variables,
    ownVariables: { ...browserVariables(directory), ...throttlingVariables(job.throttling) },
    browserNames: job.opened?.names ?? ['chromium'],
    hasBrowser: job.browser !== undefined,
    isVideoPossible: job.browser?.ffmpegPath !== undefined,
    browserArgs,
    earlyFolder: earlyFolderOf(directory),
    proxy: proxyOf(job.proxyUrl),
    playwrightConfig: job.playwrightConfig ?? {},
    updatesSnapshots: job.updatesSnapshots ?? false,
    testTimeoutMs,
    globalTimeoutMs: Math.max(1, Math.floor(globalTimeoutMs)),
  };
}

/** Collects the events of a run. */
class RunTranscript {
  readonly #token: string;
  readonly #onOutput: ScriptJob['onOutput'];
  #mode: ScriptReport['mode'];
  #startedAt: number | undefined;
  #end: ScriptReport['end'];
  #testCount: number | undefined;
  #broken: ReportedError | undefined;
  #runnerOutput = '';
  readonly #early: { readonly stream: 'stdout' | 'stderr'; readonly line: string }[] = [];
  readonly #tests: ReportedTest[] = [];
  readonly #steps: ReportedStep[] = [];
  readonly #errors: ReportedError[] = [];
  /** Output of the process itself, and worker output reported by Playwright's runner. */
  readonly #ownLines = new OutputLines((stream, line) => this.#ownLine(stream, line));
  readonly #workerLines: OutputLines;

  constructor(token: string, onOutput: ScriptJob['onOutput']) {
    this.#token = token;
    this.#onOutput = onOutput;
    this.#workerLines = new OutputLines(onOutput);
  }

  output(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#ownLines.add(stream, chunk);
  }

  /**
   * A plain script's output is the process's own; in test mode that is only the output of collecting the tests. Output
   * may arrive before the event with the mode, because they use different channels.
   */
  #ownLine(stream: 'stdout' | 'stderr', line: string): void {
    if (this.#mode === 'plain') {
      this.#onOutput(stream, line);
      return;
    }
    if (this.#mode === undefined && this.#early.length < maxEarlyLines) this.#early.push({ stream, line });
    this.#addRunnerOutput(`${line}\n`);
  }

  #addRunnerOutput(text: string): void {
    this.#runnerOutput = endingOf(this.#runnerOutput + text, maxRunnerOutputLength);
  }

  line(line: string): void {
    const event = readLine(RunEvent, saidWith(this.#token, line));
    if (event) this.#handleEvent(event);
  }

  #handleEvent(event: RunEvent): void {
    switch (event.event) {
      case 'mode':
        if (this.#mode !== undefined) break;
        this.#mode = event.mode;
        if (event.mode === 'plain') for (const { stream, line } of this.#early) this.#onOutput(stream, line);
        break;
      case 'begin':
        this.#startedAt ??= event.at;
        this.#testCount = event.tests ?? undefined;
        break;
      case 'output':
        if (event.isCollecting) this.#addRunnerOutput(event.text);
        else this.#workerLines.add(event.stream, event.text);
        break;
      case 'step':
        if (this.#steps.length < maxSteps) this.#steps.push(event);
        break;
      case 'test-end':
        if (this.#tests.length < maxTests) this.#tests.push(event);
        break;
      case 'error':
        if (this.#errors.length < maxErrors) this.#errors.push(event.error);
        break;
      case 'end':
        // Of several, possibly forged, events, a passed one never replaces a failed one.
        if (!this.#end || event.status !== 'passed')
          this.#end = { status: event.status, durationMs: event.durationMs, at: event.at };
        break;
      case 'broken':
        // Once the script may run, it may have forged this event, which must not excuse a run without an end.
        if (this.#mode === undefined) this.#broken ??= event.error;
        break;
    }
  }

  /** @param run.given the variables of the check: a warm process assigns them, too, and so reports them. */
  report(
    ended: SandboxedEnd,
    run: {
      readonly isInterrupted: boolean;
      readonly notes: LeftNotes;
      readonly given: Readonly<Record<string, string>>;
    },
  ): ScriptReport {
    this.#ownLines.end();
    this.#workerLines.end();
    if (run.notes.hasTooManySecrets) return this.#withheld(ended, run.isInterrupted);
    const notes = run.notes.lines.flatMap((line) => readLine(RunNote, line) ?? []);
    const of = <Event extends RunNote['event']>(event: Event) =>
      notes.filter((note): note is Extract<RunNote, { event: Event }> => note.event === event);
    return {
      mode: this.#mode,
      startedAt: this.#startedAt,
      end: this.#end,
      testCount: this.#testCount,
      tests: this.#tests,
      steps: this.#steps,
      errors: this.#errors,
      broken: this.#broken,
      findings: of('finding'),
      pages: of('page'),
      browsers: of('browser'),
      degraded: of('degraded').at(-1),
      softFailureCount: of('soft-failure').length,
      testExitCode: of('exit-code').at(-1)?.code,
      secrets: assigned(run.notes.secrets, run.given),
      hasTooManySecrets: false,
      ended,
      isInterrupted: run.isInterrupted,
      runnerOutput: this.#runnerOutput,
    };
  }

  /** Reports only how the run ended: everything else may contain an unknown secret. */
  #withheld(ended: SandboxedEnd, isInterrupted: boolean): ScriptReport {
    return {
      mode: this.#mode,
      startedAt: this.#startedAt,
      end: undefined,
      testCount: this.#testCount,
      tests: [],
      steps: [],
      errors: [],
      broken: undefined,
      findings: [],
      pages: [],
      browsers: [],
      degraded: undefined,
      softFailureCount: 0,
      testExitCode: undefined,
      secrets: [],
      hasTooManySecrets: true,
      ended,
      isInterrupted,
      runnerOutput: '',
    };
  }
}

/** Values that a script assigned itself: a warm process assigns those of the check, too, and so notes them. */
function assigned(secrets: LeftNotes['secrets'], given: Readonly<Record<string, string>>): string[] {
  return secrets.flatMap(({ name, value }) => (given[name] === value ? [] : [value]));
}

/** Paths of a check's script and its other files in the run's folder. */
export function scriptFiles(options: {
  readonly script: string;
  readonly entry: string;
  readonly dependencies: readonly { readonly path: string; readonly content: string }[];
  readonly snippets: readonly { readonly name: string; readonly script: string }[];
}): Map<string, string> {
  const folder = dirname(options.entry);
  const files = new Map<string, string>();
  for (const { name, script } of options.snippets) files.set(join(folder, 'snippets', `${name}.js`), script);
  for (const { path, content } of options.dependencies) files.set(join(path), content);
  files.set(options.entry, options.script);
  return files;
}
