import { stat } from 'node:fs/promises';
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
import { leftLines } from '../scripts/left-files.ts';
import { privateFolder, proxyOf } from '../scripts/script-process.ts';
import { placeBrowserTrust, type ScriptTrust } from '../trust/script-trust.ts';
import { type CachedDependencies, dependencyKey } from './dependency-cache.ts';
import { installCommandOf, type ManagerName, managerEnvironment } from './package-managers.ts';
import { type OutputStream, runStep } from './step.ts';
import type { SuiteHost } from './suite-host.ts';
import { type UnpackedBundle, unpackBundle } from './unpack.ts';

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
  readonly lastOutput: string;
}

/** Where the suite lies in the folder of its sandbox. */
export const suiteFolder = 'suite';
/** Playwright's own report, in the folder of the sandbox. */
export const suiteReportPath = join(privateFolder, 'report.json');

const notesPath = join(privateFolder, 'notes.ndjson');
const programFolder = join(privateFolder, 'bin');
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
  const installed = await install(sandbox, job, unpacked);
  if ('stage' in installed) return installed;
  try {
    return await runTests(sandbox, job, installed.report);
  } finally {
    installed.dependencies?.release();
  }
}

interface Installed {
  readonly report: InstallReport;
  /** Linked to; to be released after the run. */
  readonly dependencies?: CachedDependencies | undefined;
}

async function install(
  sandbox: Sandbox,
  job: SuiteJob,
  { manager, installDirectory, contentHash, hasModules }: UnpackedBundle,
): Promise<Installed | Exclude<SuiteReport, TestReport>> {
  const { versions } = job.host.packageManagers;
  const command = job.installCommand ?? (manager === null ? null : installCommandOf(manager));
  if (command === null || (hasModules && job.installCommand === null)) {
    const report = { manager, source: 'none', durationMs: 0 } as const;
    if (hasModules) return { report };
    const problem =
      'The bundle has no lockfile (package-lock.json, pnpm-lock.yaml, yarn.lock, bun.lock) and the check no installCommand';
    return { stage: 'no-lockfile', problem };
  }
  if (manager !== null && !versions.has(manager)) {
    const problem =
      `The bundle has a lockfile of ${manager}, which is not installed on this agent; ` +
      'npm run runtimes:install package-managers installs it';
    return { stage: 'no-manager', problem };
  }
  const key = dependencyKey({
    content: contentHash,
    installCommand: command,
    workingDirectory: job.workingDirectory,
    engine: job.engine,
    cacheHash: job.cacheHash,
    manager: manager === null ? null : `${manager} ${versions.get(manager)}`,
    platform: `${process.platform} ${process.arch} ${process.versions.modules}`,
  });
  const startedMs = performance.now();
  const took = () => Math.round(performance.now() - startedMs);
  const cached = await job.host.dependencies.find(key);
  if (cached) {
    await linkDependencies(sandbox, cached);
    job.onStage(`Dependencies of an earlier run are used (${manager ?? command})`);
    return { report: { manager, source: 'cache', durationMs: took() }, dependencies: cached };
  }
  job.onStage(`Installing dependencies: ${command}`);
  const { ended, lastOutput } = await runStep(sandbox, {
    command,
    workingDirectory: join(suiteFolder, installDirectory),
    environment: {
      ...job.host.trust?.installEnvironment,
      ...environment(sandbox, job, { folder: installDirectory, manager }),
    },
    timeoutMs: job.installTimeoutMs,
    signal: job.signal,
    onLine: (stream, line) => job.onLine('install', stream, line),
  });
  if (ended.reason !== 'exited' || ended.exitCode !== 0) {
    return { stage: 'install', command, ended, lastOutput };
  }
  const durationMs = took();
  job.onStage(`Installed in ${durationMs} ms`);
  const { uid } = await stat(sandbox.directory);
  const kept = await job.host.dependencies.add(key, {
    suiteDirectory: join(sandbox.directory, suiteFolder),
    ownerUid: uid,
  });
  const report = { manager, source: 'installed', durationMs } as const;
  if ('refused' in kept) {
    job.onStage(`The dependencies are not kept for later runs: ${kept.refused}`);
    return { report };
  }
  await linkDependencies(sandbox, kept);
  return { report, dependencies: kept };
}

async function linkDependencies(sandbox: Sandbox, { directory, folders }: CachedDependencies): Promise<void> {
  for (const folder of folders) await sandbox.link(join(suiteFolder, folder), join(directory, folder));
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
      ...environment(sandbox, job, {
        folder: job.workingDirectory,
        manager: installReport.manager,
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
  const lines = await leftLines(sandbox.directory, notesPath, maxNoteBytes);
  const notes = lines.flatMap((line) => readLine(SuiteNote, line) ?? []);
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
    secrets: of('secret').map(({ value }) => value),
    lastOutput,
  };
}

/** The customer's own options stay; ours come first. */
function requireOption(own: string | undefined, file: string): string {
  return `--require ${JSON.stringify(file)}${own === undefined ? '' : ` ${own}`}`;
}

/** @param place where a command runs, and for whose lockfile. */
function environment(
  sandbox: Sandbox,
  job: SuiteJob,
  place: { readonly folder: string; readonly manager: ManagerName | null },
): Record<string, string> {
  const { proxyUrl } = job;
  const proxy: Record<string, string> =
    proxyUrl === null ? {} : { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl };
  const { directory } = sandbox;
  const path = [
    join(directory, programFolder),
    join(directory, suiteFolder, place.folder, 'node_modules/.bin'),
    '/usr/local/bin:/usr/bin:/bin',
  ].join(':');
  return {
    ...managerEnvironment(place.manager),
    ...proxy,
    ...job.host.trust?.environment,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    ...job.variables,
    HOME: directory,
    PATH: path,
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  };
}
