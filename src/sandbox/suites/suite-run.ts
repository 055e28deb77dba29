import { join } from 'node:path';
import { placeBrowserLogin } from '../browsers/browser-login.ts';
import { ownPortsFile, programDirectory, type Sandbox } from '../sandbox.ts';
import { readLine, SuiteNote } from '../scripts/events.ts';
import { leftNotes, RunningSecrets } from '../scripts/notes.ts';
import { privateFolder, proxyOf } from '../scripts/script-process.ts';
import { placeBrowserTrust } from '../trust/script-trust.ts';
import { installDependencies } from './install.ts';
import { placePrograms, runStep, sharedFolder, stepEnvironment } from './step.ts';
import {
  type InstallReport,
  type SuiteJob,
  type SuiteReport,
  suiteFolder,
  type TestReport,
} from './suite-job.ts';
import { chooseToolchain } from './toolchain.ts';
import { unpackBundle } from './unpack.ts';

export type { SuiteJob, SuiteReport, TestReport };

/** Playwright's own report, in the folder of the sandbox. */
export const suiteReportPath = join(privateFolder, 'report.json');

const notesPath = join(privateFolder, 'notes.ndjson');
const maxNoteBytes = 32 * 1024 * 1024;
const maxTests = 5000;
const maxErrors = 100;
/** Playwright stops by itself this long before it is killed, or a tenth of its time if that is shorter. */
const maxGraceMs = 10_000;

/**
 * Runs a Playwright suite in a sandbox of its own: unpacks its archive, installs the dependencies of its lockfile or
 * links to those of an earlier run, and runs its command.
 *
 * @throws SandboxUnavailable if no process can be started, and errors of the archive's stream.
 */
export async function runSuite(sandbox: Sandbox, job: SuiteJob): Promise<SuiteReport> {
  const unpacked = await unpackBundle(sandbox, {
    bundle: job.bundle,
    folder: suiteFolder,
    workingDirectory: job.workingDirectory,
    sharedFolder,
    variableNames: Object.keys(job.variables),
    nodePath: job.host.nodes[0].path,
    signal: job.signal,
  });
  if ('problem' in unpacked) return { stage: 'unpack', problem: unpacked.problem };
  if ('ended' in unpacked) return { stage: 'unpack', ended: unpacked.ended };
  job.onStage(`Unpacked ${unpacked.entryCount} entries, ${unpacked.fileBytes} bytes`);
  const toolchain = chooseToolchain({ ...job, manager: unpacked.manager, wishes: unpacked.wishes }, job.host);
  for (const sentence of toolchain.unmet) job.onStage(sentence);
  await placePrograms(sandbox, toolchain);
  const installed = await installDependencies(sandbox, job, { ...unpacked, toolchain });
  if ('stage' in installed) return installed;
  try {
    return await runTests(sandbox, job, installed.report);
  } finally {
    installed.dependencies?.release();
  }
}

async function runTests(sandbox: Sandbox, job: SuiteJob, installReport: InstallReport): Promise<TestReport> {
  await sandbox.write(notesPath, '');
  const running = new RunningSecrets(sandbox, notesPath);
  job.onTestStart?.(async () => (await running.soFar())?.map(({ value }) => value));
  if ((job.browser || job.otherBrowsers.length > 0) && job.host.trust)
    await placeBrowserTrust(sandbox, job.host.trust);
  if (job.login) await placeBrowserLogin(sandbox, job.login);
  const graceMs = Math.min(maxGraceMs, job.testTimeoutMs * 0.1);
  const settings = {
    privateDirectory: join(sandbox.directory, privateFolder),
    executablePath: job.browser?.startPath,
    ffmpegPath: job.browser?.ffmpegPath,
    otherBrowsers: job.otherBrowsers,
    globalTimeoutMs: Math.max(1, Math.floor(job.testTimeoutMs - graceMs)),
    reportPath: join(sandbox.directory, suiteReportPath),
    proxy: proxyOf(job.proxyUrl),
    ownPortsPath: sandbox.hasOwnNetwork ? join(sandbox.directory, ownPortsFile) : null,
  };
  // Bun does not preload our code, so its ports are unknown: the run claims all of them.
  if (job.engine === 'bun') await sandbox.write(ownPortsFile, '*\n');
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
      // The same for reporters in the command; the variables for Playwright before 1.50 and since.
      PW_TEST_HTML_REPORT_OPEN: 'never',
      PLAYWRIGHT_HTML_OPEN: 'never',
      PW_TEST_REPORTER: join(programDirectory, 'suite/suite-reporter.cjs'),
      PWTEST_CACHE_DIR: join(sandbox.directory, privateFolder, 'cache'),
    },
    timeoutMs: job.testTimeoutMs,
    signal: job.signal,
    onLine: (stream, line) => job.onLine('test', stream, line),
  }).finally(() => running.end());
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

/** Keeps the customer's own options, after ours. */
function requireOption(own: string | undefined, file: string): string {
  return `--require ${JSON.stringify(file)}${own === undefined ? '' : ` ${own}`}`;
}
