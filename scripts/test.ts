/**
 * Runs the tests: `npm test [-- FILTER…]`. Arguments go to vitest. Ends with one line `N passed, N failed`, counted from
 * vitest's own JSON report, and with exit code 1 when anything failed. With CI=true a skipped test counts as failed: on
 * a build machine nothing may be left out. There a test that failed is tried once more, and named with its first error
 * when it then passes: what depends on an instant is to be mended, but must not hide what the other tests say.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly numFailedTestSuites: number;
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const folder = mkdtempSync(join(tmpdir(), 'picket-test-'));
const reportFile = join(folder, 'report.json');
const isCi = process.env.CI === 'true';
const vitest = join(import.meta.dirname, '..', 'node_modules', 'vitest', 'vitest.mjs');
const child = spawn(
  process.execPath,
  [
    vitest,
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportFile}`,
    ...(isCi ? ['--retry=1'] : []),
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit', cwd: join(import.meta.dirname, '..') },
);
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('close', (code) => {
  process.exitCode = summarise(code ?? 1);
  rmSync(folder, { recursive: true, force: true });
});

function summarise(vitestCode: number): number {
  let report: VitestReport;
  try {
    report = JSON.parse(readFileSync(reportFile, 'utf8')) as VitestReport;
  } catch {
    console.log(`vitest ended with code ${vitestCode} and left no report\n0 passed, 1 failed`);
    return 1;
  }
  const skipped = report.testResults.flatMap((file) =>
    file.assertionResults.filter((test) => ['pending', 'skipped', 'todo'].includes(test.status)),
  );
  for (const test of skipped) console.log(`skipped: ${test.fullName}`);
  for (const test of report.testResults.flatMap((file) => file.assertionResults)) {
    const [firstError] = test.failureMessages;
    if (test.status === 'passed' && firstError !== undefined)
      console.log(
        `passed at the second attempt only: ${test.fullName}\n  first: ${firstError.split('\n    at ')[0]}`,
      );
  }
  // A file that could not be loaded has no tests of its own to count as failed.
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  );
  for (const file of brokenFiles) console.log(`failed to run: ${file.name}`);
  let failed = report.numFailedTests + brokenFiles.length + (isCi ? skipped.length : 0);
  if (failed === 0 && (vitestCode !== 0 || !report.success || report.numPassedTests === 0)) failed = 1;
  console.log(`${report.numPassedTests} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}
