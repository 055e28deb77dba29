import { beginningOf, endingOf } from '@picket/lib/text.ts';
import type { SandboxEndReason } from '@picket/sandbox/sandbox.ts';
import type { ReportedError, ReportedSuiteTest } from '@picket/sandbox/scripts/events.ts';
import type { SuiteReport, TestReport } from '@picket/sandbox/suites/suite-job.ts';
import { type Failure, type FailureCode, failure } from '../contract/failure.ts';
import { browserFailure, hangingBrowserFailure } from '../script/browsers/browser-failure.ts';
import { tooManySecrets } from '../script/verdict.ts';
import type { SuiteError } from './detail.ts';

/** Time limits of the stages, in milliseconds, as messages name them. */
export interface SuiteLimits {
  readonly installTimeoutMs: number;
  readonly testTimeoutMs: number;
}

export interface SuiteVerdict {
  readonly failure: Failure | undefined;
  readonly errors: readonly SuiteError[];
  readonly errorMessages: readonly string[];
}

const maxMessages = 50;
const maxSaidLength = 1500;

const brokenLimits: Readonly<
  Partial<Record<SandboxEndReason, { readonly code: FailureCode; readonly message: string }>>
> = {
  memory: {
    code: 'SCRIPT_OUT_OF_MEMORY',
    message: 'The suite exceeded its memory limit of 4 GiB',
  },
  cpu: { code: 'SCRIPT_LIMIT_EXCEEDED', message: 'The suite exceeded its limit of processor time' },
  processes: { code: 'SCRIPT_LIMIT_EXCEEDED', message: 'The suite exceeded its limit of processes' },
  output: { code: 'SCRIPT_LIMIT_EXCEEDED', message: 'The suite exceeded its output limit' },
  disk: { code: 'SCRIPT_LIMIT_EXCEEDED', message: 'The suite exceeded its disk limit' },
  descriptors: {
    code: 'SCRIPT_LIMIT_EXCEEDED',
    message: 'The suite exceeded its limit of watched (epoll) or passed descriptors',
  },
};

/**
 * Judges a run of a suite by Playwright's report and by how its command ended. A flaky test, which passed in a later
 * attempt, fails nothing unless the suite's exit code says so; time limits take precedence.
 */
export function judgeSuite(report: SuiteReport, limits: SuiteLimits): SuiteVerdict {
  switch (report.stage) {
    case 'unpack':
      return report.problem === undefined
        ? because(limitFailure(report.ended.reason, 'BUNDLE_INVALID', 'The bundle takes too long to unpack'))
        : because(failure('BUNDLE_INVALID', `The code bundle cannot be used: ${report.problem}`));
    case 'no-lockfile':
      return because(failure('BUNDLE_INVALID', report.problem));
    case 'no-manager':
      return because(failure('PACKAGE_MANAGER_MISSING', report.problem));
    case 'install':
      return because(installFailure(report, limits));
    case 'test':
      return judgeTests(report, limits);
  }
}

function limitFailure(reason: SandboxEndReason, code: FailureCode, message: string): Failure {
  if (reason === 'killed') return failure('RUN_ABORTED', 'The run was stopped');
  if (reason === 'notStarted')
    return failure('SANDBOX_UNAVAILABLE', 'No program of the suite could be started');
  const limit = brokenLimits[reason];
  return limit ? failure(limit.code, limit.message) : failure(code, message);
}

function installFailure(
  { command, ended, lastOutput }: Extract<SuiteReport, { stage: 'install' }>,
  { installTimeoutMs }: SuiteLimits,
): Failure {
  if (ended.reason !== 'exited') {
    const message = `Installing dependencies took longer than ${installTimeoutMs} ms`;
    return limitFailure(ended.reason, 'INSTALL_TIMED_OUT', message);
  }
  const how = ended.signal === null ? `exit code ${ended.exitCode}` : ended.signal;
  return failure('INSTALL_FAILED', `"${command}" failed (${how})${said(lastOutput)}`);
}

function judgeTests(report: TestReport, { testTimeoutMs }: SuiteLimits): SuiteVerdict {
  const { ended, ends } = report;
  if (report.hasTooManySecrets)
    return because(failure('SCRIPT_LIMIT_EXCEEDED', `The suite ${tooManySecrets}`));
  const errors = errorsOf(report);
  if (ended.reason !== 'exited') {
    const message = `The suite exceeded the maximum run time of ${testTimeoutMs} ms`;
    return because(limitFailure(ended.reason, 'SCRIPT_TIMED_OUT', message), errors);
  }
  const isTimedOut = ends.some(({ status }) => status === 'timedout');
  const [first] = errors;
  if (isTimedOut) {
    const message = `The suite exceeded its global timeout${first ? `: ${first.error.message}` : ''}`;
    const hanging = hangingBrowserFailure(saidBy(report));
    return because(hanging ?? failure('SCRIPT_TIMED_OUT', message), errors);
  }
  const how = ended.signal === null ? `exit code ${ended.exitCode}` : `signal ${ended.signal}`;
  const isDone = ends.length > 0 && ends.length === report.beginCount;
  if (errors.length > 0) return failed(report, errors);
  if (ends.length === 0) {
    const what = report.beginCount > 0 ? 'The suite did not finish' : 'The command ran no Playwright test';
    const code = report.beginCount > 0 ? 'SCRIPT_FAILED' : 'SCRIPT_INVALID';
    return because(failure(code, `${what}: ${how}${said(report.lastOutput)}`));
  }
  const isPassed = isDone && ends.every(({ status }) => status === 'passed');
  if (isPassed && ended.exitCode === 0) return { failure: undefined, errors: [], errorMessages: [] };
  const statuses = [...new Set(ends.map(({ status }) => status))].join(', ');
  return because(
    failure('SCRIPT_FAILED', `The suite ended with ${statuses} and ${how}${said(report.lastOutput)}`),
  );
}

/** Quotes the beginning and the end of the output: some programs report the problem first, others last. */
function said(output: string): string {
  const text = stripColours(output).trim();
  if (text === '') return '';
  const half = maxSaidLength / 2;
  return `; it wrote: ${text.length <= maxSaidLength ? text : `${beginningOf(text, half)}\n${endingOf(text, half)}`}`;
}

function stripColours(text: string): string {
  return text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, 'g'), '');
}

/** A verdict for a reason outside of tests, whose message comes first. */
export function because(failed: Failure, errors: readonly SuiteError[] = []): SuiteVerdict {
  const own = outsideOfTests({ name: 'Error', message: failed.message, stack: null });
  return {
    failure: failed,
    errors: [...errors, own],
    errorMessages: [failed.message, ...messagesOf(errors)].slice(0, maxMessages),
  };
}

function failed(report: TestReport, errors: readonly SuiteError[]): SuiteVerdict {
  const messages = messagesOf(errors).slice(0, maxMessages);
  const code = report.tests.length > 0 ? 'SCRIPT_FAILED' : 'SCRIPT_INVALID';
  const why = browserFailure(saidBy(report)) ?? failure(code, messages[0] ?? 'The suite failed');
  return { failure: why, errors, errorMessages: messages };
}

function messagesOf(errors: readonly SuiteError[]): string[] {
  return [...new Set(errors.map(({ error }) => error.message))];
}

/** Errors of tests whose last attempt did not end as expected, and errors outside of tests. */
function errorsOf(report: TestReport): SuiteError[] {
  return [...failedTests(report).flatMap(errorsOfTest), ...report.errors.map(outsideOfTests)];
}

/** The same errors in the form in which the run reported them. */
function saidBy(report: TestReport): ReportedError[] {
  return [...failedTests(report).flatMap(saidOfTest), ...report.errors];
}

function failedTests({ tests }: TestReport): ReportedSuiteTest[] {
  return tests.filter(({ isLast, isExpected }) => isLast && !isExpected);
}

function saidOfTest({ title, status, errors }: ReportedSuiteTest): readonly ReportedError[] {
  if (errors.length > 0) return errors;
  const message =
    status === 'passed' ? `"${title}" passed, but was expected to fail` : `"${title}": ${status}`;
  return [{ name: 'Error', message, stack: null }];
}

function errorsOfTest(test: ReportedSuiteTest): SuiteError[] {
  const { title } = test;
  return saidOfTest(test).map((error) => ({
    error: { message: error.message, stack: error.stack },
    testTitle: title,
    testFile: test.file,
    projectName: test.project,
    suitePath: test.suitePath,
    specId: test.test,
  }));
}

function outsideOfTests({ message, stack }: ReportedError): SuiteError {
  return {
    error: { message, stack },
    testTitle: null,
    testFile: null,
    projectName: null,
    suitePath: [],
    specId: null,
  };
}
