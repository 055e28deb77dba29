import { beginningOf, endingOf } from '@picket/lib/text.ts';
import type { SandboxEndReason } from '@picket/sandbox/sandbox.ts';
import type { ReportedError, ReportedTest } from '@picket/sandbox/scripts/events.ts';
import type { ScriptReport } from '@picket/sandbox/scripts/script-run.ts';
import { type Failure, type FailureCode, failure } from '../contract/failure.ts';
import { browserFailure, hangingBrowserFailure, unnamedBrowserFailure } from './browsers/browser-failure.ts';

/** An error of the script with the title of its test, if it occurred in one. */
export type ScriptError = ReportedError & { readonly test: string | null };

export interface ScriptVerdict {
  readonly failure: Failure | undefined;
  readonly isDegraded: boolean;
  /** Errors for the detail. */
  readonly errors: readonly ScriptError[];
  readonly errorMessages: readonly string[];
}

const maxMessages = 50;
export const tooManySecrets =
  'made more values secret (variables named SERVICE_SECRET_…) than can be masked: its output was discarded';
const maxQuotedLength = 500;

const brokenLimits: Readonly<
  Partial<Record<SandboxEndReason, { readonly code: FailureCode; readonly message: string }>>
> = {
  memory: {
    code: 'SCRIPT_OUT_OF_MEMORY',
    message: 'The script exceeded its memory limit of 2.7 GiB',
  },
  cpu: { code: 'SCRIPT_LIMIT_EXCEEDED', message: 'The script exceeded its limit of processor time' },
  processes: {
    code: 'SCRIPT_LIMIT_EXCEEDED',
    message: 'The script exceeded its limit of processes',
  },
  output: { code: 'SCRIPT_LIMIT_EXCEEDED', message: 'The script exceeded its output limit' },
  disk: { code: 'SCRIPT_LIMIT_EXCEEDED', message: 'The script exceeded its disk limit' },
  descriptors: {
    code: 'SCRIPT_LIMIT_EXCEEDED',
    message: 'The script exceeded its limit of watched (epoll) or passed descriptors',
  },
};

/**
 * Judges a run of a script. Problems are the script's, unless our own program in its sandbox failed; time limits take
 * precedence over the script's report, and a run that never reported its end has failed, whatever its exit code.
 *
 * @param timeoutMs the limit to name in the message of a run that took too long.
 * @param browsers the names of those that the script may open; absent if it may open none.
 */
export function judgeScript(
  report: ScriptReport,
  timeoutMs: number,
  isStopped: 'aborted' | 'timed-out' | undefined,
  browsers?: readonly string[],
): ScriptVerdict {
  const errors = errorsOf(report);
  const because = (failed: Failure): ScriptVerdict => ({
    failure: failed,
    isDegraded: false,
    errors: [...errors, { name: 'Error', message: failed.message, stack: null, test: null }],
    errorMessages: [failed.message, ...messagesOf(errors)].slice(0, maxMessages),
  });
  if (isStopped === 'aborted') return because(failure('RUN_ABORTED', 'The run was stopped'));
  const { ended, end } = report;
  if (report.hasTooManySecrets)
    return because(failure('SCRIPT_LIMIT_EXCEEDED', `The script ${tooManySecrets}`));
  const limit = brokenLimits[ended.reason];
  if (limit) return because(failure(limit.code, limit.message));
  if (isStopped === 'timed-out' || ended.reason === 'wall' || isCutOff(report)) {
    const message = `The script exceeded the maximum run time of ${timeoutMs} ms`;
    return because(hangingBrowserFailure(errors) ?? failure('SCRIPT_TIMED_OUT', message));
  }
  if (ended.reason === 'killed') return because(failure('RUN_ABORTED', 'The run was stopped'));
  if (ended.reason !== 'exited') {
    return because(failure('SANDBOX_UNAVAILABLE', `The script could not be run: ${ended.reason}`));
  }
  if (report.broken) {
    return because(failure('RUNNER_CRASHED', `The script could not be started: ${report.broken.message}`));
  }
  if (!end) return because(failure('SCRIPT_FAILED', endedEarly(report)));
  // If tests were found but none started, their process died: the code of the script is not to blame.
  if (report.mode === 'test' && report.tests.length === 0 && !report.testCount) {
    return errors.length > 0 ? failed('SCRIPT_INVALID', errors, browsers) : because(noTests(report));
  }
  if (report.mode === 'plain' && report.startedAt === undefined)
    return failed('SCRIPT_INVALID', errors, browsers);
  if (errors.length === 0 && end.status === 'passed') {
    if (report.testExitCode !== undefined) {
      return because(failure('SCRIPT_FAILED', `The script set process.exitCode to ${report.testExitCode}`));
    }
    // The report is the script's own claim; the exit code of its program must confirm it.
    return ended.exitCode === 0 ? passed(report) : because(failure('SCRIPT_FAILED', endedEarly(report)));
  }
  if (errors.length === 0) return because(failure('SCRIPT_FAILED', `The script ended with ${end.status}`));
  if (report.degraded && errors.length === report.softFailureCount) {
    return { failure: undefined, isDegraded: true, errors, errorMessages: [] };
  }
  return failed('SCRIPT_FAILED', errors, browsers);
}

/** Whether the run was stopped before it finished. */
function isCutOff({ end, isInterrupted }: ScriptReport): boolean {
  return end ? end.status === 'timedout' || end.status === 'interrupted' : isInterrupted;
}

function passed(report: ScriptReport): ScriptVerdict {
  const isDegraded = report.degraded !== undefined || whyUnproven(report) !== undefined;
  return { failure: undefined, isDegraded, errors: [], errorMessages: [] };
}

/** Returns why a passed run proves nothing; undefined if it proves something. */
export function whyUnproven({ tests }: ScriptReport): string | undefined {
  if (tests.length === 0 || tests.some(({ status }) => status !== 'skipped')) return undefined;
  return 'All tests of the script were skipped: nothing was tested';
}

function failed(
  code: FailureCode,
  errors: readonly ScriptError[],
  browsers: readonly string[] | undefined,
): ScriptVerdict {
  const messages = messagesOf(errors);
  return {
    failure:
      (browsers && unnamedBrowserFailure(errors, browsers)) ??
      browserFailure(errors) ??
      failure(code, messages[0] ?? 'The script failed'),
    isDegraded: false,
    errors,
    errorMessages: messages.slice(0, maxMessages),
  };
}

function noTests({ runnerOutput }: ScriptReport): Failure {
  const said = runnerOutput.trim();
  return failure(
    'SCRIPT_INVALID',
    `No tests found in the script${said === '' ? '' : `: ${beginningOf(said, maxQuotedLength)}`}`,
  );
}

function endedEarly({ ended, mode, runnerOutput }: ScriptReport): string {
  const how =
    ended.signal === null
      ? `it exited with code ${ended.exitCode}, as process.exit() does`
      : `it was ended by ${ended.signal}`;
  const said = mode === 'plain' ? '' : endingOf(runnerOutput.trim(), maxQuotedLength);
  return `The script did not finish: ${how}${said === '' ? '' : `; it wrote: ${said}`}`;
}

/** Errors of tests whose last attempt did not end as expected, and errors outside of tests. */
function errorsOf({ tests, errors }: ScriptReport): ScriptError[] {
  const ofTests = tests
    .filter(({ isLast, isExpected }) => isLast && !isExpected)
    .flatMap((test) => errorsOfTest(test).map((error) => ({ ...error, test: test.title })));
  return [...ofTests, ...errors.map((error) => ({ ...error, test: null }))];
}

function errorsOfTest({ errors, status, title }: ReportedTest): readonly ReportedError[] {
  if (errors.length > 0) return errors;
  const message =
    status === 'passed' ? `"${title}" passed, but was expected to fail` : `"${title}": ${status}`;
  return [{ name: 'Error', message, stack: null }];
}

function messagesOf(errors: readonly ScriptError[]): string[] {
  return [...new Set(errors.map(({ message }) => message))];
}
