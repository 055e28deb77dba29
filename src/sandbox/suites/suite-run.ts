import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { BrowserLinks } from '../browsers/browser-links.ts';
import { programDirectory, type Sandbox, type SandboxedEnd } from '../sandbox.ts';
import {
  readLine,
  type SaidError,
  type SaidSuiteEnd,
  type SaidSuiteTest,
  SuiteNote,
} from '../scripts/events.ts';
import { leftNotes } from '../scripts/notes.ts';
import { privateFolder, proxyOf } from '../scripts/script-process.ts';
import { placeBrowserTrust, type ScriptTrust } from '../trust/script-trust.ts';
import { installDependencies } from './install.ts';
import type { ManagerName } from './package-managers.ts';
import { type OutputStream, programFolder, runStep, stepEnvironment } from './step.ts';
import type { SuiteHost } from './suite-host.ts';
import { unpackBundle } from './unpack.ts';

/** One suite as it is to run. */
export interface SuiteJob {
  readonly bundle: Readable;
  readonly browser: BrowserLinks | undefined;
  readonly host: Pick<SuiteHost, 'packageManagers' | 'dependencies' | 'nodePath'> & {
    /** Custom CA certificates that are trusted. */
    readonly trust?: ScriptTrust | undefined;
  };
  readonly engine: 'node' | 'bun';
  /** Below the suite; `.` is its top. */
  readonly workingDirectory: string;
  /** null: what the lockfile's package manager does. */
  readonly installCommand: string | null;
  readonly testCommand: string;
  /** Whatever else decides what is installed. */
  readonly cacheHash: string | null;
  readonly variables: Readonly<Record<string, string>>;
  readonly proxyUrl: string | null;
  /** How long installing may take, in milliseconds. */
  readonly installTimeoutMs: number;
  /** How long the command may take, in milliseconds. */
  readonly testTimeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with each line that a command writes. */
  readonly onLine: (stage: 'install' | 'test', stream: OutputStream, line: string) => void;
  /** What happens between the programs, for the log. */
  readonly onStage: (message: string) => void;
}

/** How installing went: not at all, or from where the dependencies came. */
export interface InstallReport {
  readonly manager: ManagerName | null;
  readonly source: 'none' | 'cache' | 'installed';
  readonly durationMs: number;
}

/** How a run of a suite ended; `stage` is how far it came. */
export type SuiteReport =
  | { readonly stage: 'unpack'; readonly problem: string }
  | { readonly stage: 'unpack'; readonly ended: SandboxedEnd; readonly problem?: undefined }
  | { readonly stage: 'no-lockfile'; readonly problem: string }
  | { readonly stage: 'no-manager'; readonly problem: string }
  | {
      readonly stage: 'install';
      readonly command: string;
      readonly ended: SandboxedEnd;
      readonly lastOutput: string;
    }
  | TestReport;

export interface TestReport {
  readonly stage: 'test';
  readonly install: InstallReport;
  readonly ended: SandboxedEnd;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly playwrightVersion: string | null;
  /** How many times Playwright ran tests. */
  readonly beginCount: number;
  readonly ends: readonly SaidSuiteEnd[];
  readonly tests: readonly SaidSuiteTest[];
  /** Errors outside of any test. */
  readonly errors: readonly SaidError[];
  /** Values the suite gave to `SERVICE_SECRET_*` variables; they must not leave. */
  readonly secrets: readonly string[];
  /** Whether it made more values secret than can be masked; nothing of what it wrote is here then. */
  readonly hasTooManySecrets: boolean;
  readonly lastOutput: string;
}

/** Where the suite lies in the folder of its sandbox. */
export const suiteFolder = 'suite';
/** Playwright's own report, in the folder of the sandbox. */
export const suiteReportPath = join(privateFolder, 'report.json');

const notesPath = join(privateFolder, 'notes.ndjson');
const maxNoteBytes = 32 * 1024 * 1024;
const maxTests = 5000;
const maxErrors = 100;
/** Playwright stops by itself this long before it is killed, or a tenth of its time when that is less. */
const maxGraceMs = 10_000;

/**
 * Runs a Playwright suite in a sandbox of its own: unpacks its archive, installs what its lockfile says or
 * links to what an earlier run installed, and runs its command.
 *
 * @throws SandboxUnavailable when no process can be started, and what the archive's stream breaks with.
 */
export async function runSuite(sandbox: Sandbox, job: SuiteJob): Promise<SuiteReport> {
  const unpacked = await unpackBundle(sandbox, {
    bundle: job.bundle,
    folder: suiteFolder,
    workingDirectory: job.workingDirectory,
    programFolder,
    programs: job.host.packageManagers.programs(job.engine, job.host.nodePath),
    nodePath: job.host.nodePath,
    signal: job.signal,
  });
  if ('problem' in unpacked) return { stage: 'unpack', problem: unpacked.problem };
  if ('ended' in unpacked) return { stage: 'unpack', ended: unpacked.ended };
  job.onStage(`Unpacked ${unpacked.entryCount} entries, ${unpacked.fileBytes} bytes`);
  const installed = await installDependencies(sandbox, job, unpacked);
  if ('stage' in installed) return installed;
  try {
    return await runTests(sandbox, job, installed.report);
  } finally {
    installed.dependencies?.release();
  }
}

async function runTests(sandbox: Sandbox, job: SuiteJob, installReport: InstallReport): Promise<TestReport> {
  await sandbox.write(notesPath, '');
  if (job.browser && job.host.trust) await placeBrowserTrust(sandbox, job.host.trust);
  const graceMs = Math.min(maxGraceMs, job.testTimeoutMs * 0.1);
  const settings = {
    privateDirectory: join(sandbox.directory, privateFolder),
    executablePath: job.browser?.executablePath,
    ffmpegPath: job.browser?.ffmpegPath,
    globalTimeoutMs: Math.max(1, Math.floor(job.testTimeoutMs - graceMs)),
    reportPath: join(sandbox.directory, suiteReportPath),
    proxy: proxyOf(job.proxyUrl),
  };
  job.onStage(`Running tests: ${job.testCommand}`);
  const startedAt = Date.now();
  const startedMs = performance.now();
  const { ended, lastOutput } = await runStep(sandbox, {
    command: job.testCommand,
    workingDirectory: join(suiteFolder, job.workingDirectory),
    environment: {
      ...stepEnvironment(sandbox, {
        folder: join(suiteFolder, job.workingDirectory),
        manager: installReport.manager,
        proxyUrl: job.proxyUrl,
        trust: job.host.trust,
        variables: job.variables,
      }),
      NODE_OPTIONS: requireOption(
        job.variables.NODE_OPTIONS,
        join(programDirectory, 'suite/suite-preload.cjs'),
      ),
      PICKET_SUITE: JSON.stringify(settings),
      PICKET_NOTES: join(sandbox.directory, notesPath),
      PW_TEST_REPORTER: join(programDirectory, 'suite/suite-reporter.cjs'),
      PWTEST_CACHE_DIR: join(sandbox.directory, privateFolder, 'cache'),
    },
    timeoutMs: job.testTimeoutMs,
    signal: job.signal,
    onLine: (stream, line) => job.onLine('test', stream, line),
  });
  const durationMs = performance.now() - startedMs;
  const left = await leftNotes(sandbox.directory, notesPath, maxNoteBytes);
  const { secrets, hasTooManySecrets } = left;
  const notes = hasTooManySecrets ? [] : left.lines.flatMap((line) => readLine(SuiteNote, line) ?? []);
  const of = <Event extends SuiteNote['event']>(event: Event) =>
    notes.filter((note): note is Extract<SuiteNote, { event: Event }> => note.event === event);
  const begins = of('suite-begin');
  return {
    stage: 'test',
    install: installReport,
    ended,
    startedAt,
    durationMs,
    playwrightVersion: begins[0]?.playwrightVersion ?? null,
    beginCount: begins.length,
    ends: of('suite-end'),
    tests: of('suite-test').slice(0, maxTests),
    errors: of('suite-error')
      .map(({ error }) => error)
      .slice(0, maxErrors),
    secrets: secrets.map(({ value }) => value),
    hasTooManySecrets,
    lastOutput: hasTooManySecrets ? '' : lastOutput,
  };
}

/** The customer's own options stay; ours come first. */
function requireOption(own: string | undefined, file: string): string {
  return `--require ${JSON.stringify(file)}${own === undefined ? '' : ` ${own}`}`;
}
