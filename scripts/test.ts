/**
 * Runs tests: `npm test [-- FILTER…]`. Without a filter these are the tiers unit and integration, which need no root,
 * no browser, no PostgreSQL and no installed runtime; `npm run test:system` runs the third, and a filter finds files of
 * every tier. `npm run test:nightly [-- FILTER…]` runs all of them in their long form, including files that end in
 * `.night.test.ts`. Other arguments go to vitest. `--record-durations` writes test/durations.json, which makes the
 * longest files start first.
 *
 * Ends with a line `FAILED: file > test` for each test that failed, and one line `N passed, N failed`, both from
 * vitest's own report, and with exit code 1 after any failure. With CI=true a skipped test counts as failed, unless it
 * needs a program that no build machine has.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { durationsFile } from '../test/helpers/longest-first.ts';

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'picket-test-'));
const reportFile = join(folder, 'report.json');
const isCi = process.env.CI === 'true';
/** Skipped even on a build machine, which has no container engine, no Helm and no model of its own. */
const absentByDesign = /\((?:(?:docker|podman|helm) is not installed\)|no npm package brings a model)/;

const given = process.argv.slice(2).filter((argument) => argument !== '--record-durations');
const isRecording = process.argv.includes('--record-durations');
const isFiltered = given.some((argument) => !argument.startsWith('-'));
const isNight = given.includes('--config=test/nightly.config.ts');
const tiers = isFiltered || isNight ? [] : ['--project=unit', '--project=integration*'];
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...tiers, ...given], {
  stdio: 'inherit',
  cwd: root,
});
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
  if (isRecording) recordDurations(report);
  const skipped = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => ['pending', 'skipped', 'todo'].includes(status))
      .map(({ fullName }) => fullName),
  );
  for (const name of skipped) console.log(`skipped: ${name}`);
  for (const { name, assertionResults } of report.testResults)
    for (const { fullName } of assertionResults.filter(({ status }) => status === 'failed'))
      console.log(`FAILED: ${relative(root, name)} > ${fullName}`);
  // A file that could not be loaded has no failed tests of its own.
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  );
  for (const { name } of brokenFiles) console.log(`FAILED: ${relative(root, name)} could not be run`);
  const skippedInCi = isCi ? skipped.filter((name) => !absentByDesign.test(name)).length : 0;
  let failed = report.numFailedTests + brokenFiles.length + skippedInCi;
  if (failed === 0 && (vitestCode !== 0 || !report.success || report.numPassedTests === 0)) failed = 1;
  if (!isFiltered && !isNight)
    console.log('These were the tiers unit and integration. npm run test:system runs the third.');
  console.log(`${report.numPassedTests} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Only files of a tenth of a second and more: the order of the others does not matter. */
function recordDurations({ testResults }: VitestReport): void {
  const known = JSON.parse(readFileSync(durationsFile, 'utf8')) as Record<string, number>;
  const now = testResults.map(({ name, startTime, endTime }) => [
    relative(root, name),
    Math.round(endTime - startTime),
  ]);
  const all = Object.entries<number>({ ...known, ...Object.fromEntries(now) });
  const kept = all
    .filter(([file, ms]) => ms >= 100 && existsSync(join(root, file)))
    .sort(([left], [right]) => (left < right ? -1 : 1));
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}
