import { dirname, join } from 'node:path';
import { endingOf } from '../../lib/text.ts';
import type { SandboxedEnd } from '../sandbox.ts';
import {
  RunEvent,
  RunNote,
  readLine,
  type SaidError,
  type SaidFinding,
  type SaidPage,
  type SaidStep,
  type SaidTest,
} from './events.ts';
import { leftLines } from './left-files.ts';
import { OutputLines } from './output-lines.ts';
import { proxyOf } from './proxy.ts';
import {
  browserArgs,
  browserVariables,
  notesFile,
  privateFolder,
  type WaitingScript,
} from './waiting-script.ts';

/** One script as it is to run. */
export interface ScriptOrder {
  /** Path of the file that runs, as given; Playwright may run it under another extension. */
  readonly entry: string;
  /** All files by their path below the run's folder, the entry among them. */
  readonly files: ReadonlyMap<string, string>;
  readonly variables: Readonly<Record<string, string>>;
  readonly proxyUrl: string | null;
  /** How long the script may run, in milliseconds, until it is killed. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with every line the script wrote, without its end. */
  readonly onOutput: (stream: 'stdout' | 'stderr', line: string) => void;
}

/** What a run said and how it ended. */
export interface ScriptReport {
  /** Undefined when it never got far enough to tell. */
  readonly mode: 'test' | 'plain' | undefined;
  readonly startedAt: number | undefined;
  readonly end: { readonly status: string; readonly durationMs: number; readonly at: number } | undefined;
  readonly testCount: number | undefined;
  readonly tests: readonly SaidTest[];
  readonly steps: readonly SaidStep[];
  /** Errors outside of any test. */
  readonly errors: readonly SaidError[];
  /** What our own program in the sandbox broke on. */
  readonly broken: SaidError | undefined;
  readonly findings: readonly SaidFinding[];
  readonly pages: readonly SaidPage[];
  readonly degraded: { readonly reason: string | null } | undefined;
  readonly softFailureCount: number;
  /** Values the script gave to `SERVICE_SECRET_*` variables; they must not leave. */
  readonly secrets: readonly string[];
  readonly ended: SandboxedEnd;
  /** Whether it was asked to end because its time was nearly over. */
  readonly isInterrupted: boolean;
  /** What Playwright itself wrote outside of tests, the last part. */
  readonly runnerOutput: string;
}

const maxTests = 500;
const maxSteps = 1000;
const maxErrors = 100;
const maxNoteBytes = 8 * 1024 * 1024;
const maxRunnerOutputLength = 4096;
const maxEarlyLines = 500;
/** The time limit of one test that sets none itself: Playwright's own default. */
const testTimeoutMs = 30_000;
/** Two steps of at most this many milliseconds lie before the kill: Playwright's own end, and an interruption. */
const maxGraceMs = 5000;

/**
 * Runs one script in a process that waits for it. Its end comes in three steps, so that as much evidence as possible
 * is there: Playwright stops by itself a little before the limit, then it is interrupted, and at the limit everything is
 * killed. A run of tests that has written everything is not waited for any longer than that: what it still does is tidying
 * up what is thrown away.
 */
export async function runScript(waiting: WaitingScript, order: ScriptOrder): Promise<ScriptReport> {
  const { sandbox, process: running } = waiting;
  const deadlineMs = performance.now() + order.timeoutMs;
  for (const [path, content] of order.files) await sandbox.write(path, content);

  const timeoutMs = Math.max(1, Math.ceil(deadlineMs - performance.now()));
  const graceMs = Math.min(maxGraceMs, timeoutMs * 0.1);
  const heard = new Heard(order.onOutput, () => running.kill());
  waiting.listen({
    onOutput: (stream, chunk) => heard.output(stream, chunk),
    onEvent: (line) => heard.line(line),
  });
  const kill = () => running.kill();
  order.signal.addEventListener('abort', kill);
  if (order.signal.aborted) kill();
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
  running.input.end(`${JSON.stringify(job(waiting, order, timeoutMs - 2 * graceMs))}\n`);
  const ended = await running.ended;
  clearTimeout(limit);
  clearTimeout(interruption);
  order.signal.removeEventListener('abort', kill);
  const notes = await leftLines(sandbox.directory, notesFile, maxNoteBytes);
  return heard.report(endOf(ended, { isOvertime, isWritten: heard.isWritten }), {
    isInterrupted,
    notes,
    given: order.variables,
  });
}

/** How a run ended that was killed by us. */
function endOf(
  ended: SandboxedEnd,
  { isOvertime, isWritten }: { readonly isOvertime: boolean; readonly isWritten: boolean },
): SandboxedEnd {
  if (ended.reason !== 'killed') return ended;
  if (isWritten) return { ...ended, reason: 'exited', exitCode: 0, signal: null };
  return isOvertime ? { ...ended, reason: 'wall' } : ended;
}

/** What src/sandbox/program/launch.cjs reads. */
function job({ sandbox, runtime, browser }: WaitingScript, order: ScriptOrder, globalTimeoutMs: number) {
  const { directory } = sandbox;
  return {
    directory,
    privateDirectory: join(directory, privateFolder),
    entry: order.entry,
    sources: [...order.files.keys()].filter((path) => /\.[cm]?[jt]sx?$/.test(path)),
    variables: order.variables,
    ownVariables: browserVariables(directory, browser),
    playwrightVersion: runtime.playwrightVersion,
    hasBrowser: browser !== undefined,
    isVideoPossible: browser?.hasFfmpeg ?? false,
    browserArgs,
    proxy: proxyOf(order.proxyUrl),
    testTimeoutMs,
    globalTimeoutMs: Math.max(1, Math.floor(globalTimeoutMs)),
  };
}

/** Collects what a run says while it runs. */
class Heard {
  readonly #onOutput: ScriptOrder['onOutput'];
  #mode: ScriptReport['mode'];
  #startedAt: number | undefined;
  #end: ScriptReport['end'];
  #testCount: number | undefined;
  #broken: SaidError | undefined;
  #runnerOutput = '';
  readonly #early: { readonly stream: 'stdout' | 'stderr'; readonly line: string }[] = [];
  readonly #tests: SaidTest[] = [];
  readonly #steps: SaidStep[] = [];
  readonly #errors: SaidError[] = [];
  /** What the process itself writes, and what Playwright's runner tells of its worker. */
  readonly #ownLines = new OutputLines((stream, line) => this.#ownLine(stream, line));
  readonly #toldLines: OutputLines;

  readonly #onWritten: () => void;
  #isWritten = false;

  /** @param onWritten called when a run of tests has ended and written everything. */
  constructor(onOutput: ScriptOrder['onOutput'], onWritten: () => void) {
    this.#onOutput = onOutput;
    this.#onWritten = onWritten;
    this.#toldLines = new OutputLines(onOutput);
  }

  get isWritten(): boolean {
    return this.#isWritten;
  }

  output(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#ownLines.add(stream, chunk);
  }

  /**
   * A plain script's output is the process's own; in test mode that is only what collecting the tests wrote. Output may
   * come before the line that says which it is, as they take different ways.
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
    const event = readLine(RunEvent, line);
    if (event) this.#hear(event);
  }

  #hear(event: RunEvent): void {
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
        else this.#toldLines.add(event.stream, event.text);
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
        this.#end ??= { status: event.status, durationMs: event.durationMs, at: event.at };
        break;
      case 'written':
        if (this.#mode !== 'test' || !this.#end || this.#isWritten) break;
        this.#isWritten = true;
        this.#onWritten();
        break;
      case 'broken':
        this.#broken ??= event.error;
        break;
      case 'test-begin':
        break;
    }
  }

  /** @param run.given the variables the script was given: a process that was started ahead takes them by assigning them too. */
  report(
    ended: SandboxedEnd,
    run: {
      readonly isInterrupted: boolean;
      readonly notes: readonly string[];
      readonly given: Readonly<Record<string, string>>;
    },
  ): ScriptReport {
    this.#ownLines.end();
    this.#toldLines.end();
    const notes = run.notes.flatMap((line) => readLine(RunNote, line) ?? []);
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
      degraded: of('degraded').at(-1),
      softFailureCount: of('soft-failure').length,
      secrets: of('secret').flatMap(({ name, value }) => (run.given[name] === value ? [] : [value])),
      ended,
      isInterrupted: run.isInterrupted,
      runnerOutput: this.#runnerOutput,
    };
  }
}

/** Where a check's script lies in the run's folder, and everything beside it. */
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
