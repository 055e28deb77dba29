import { expect, it } from 'vitest';
import type { ScriptReport } from '../../sandbox/scripts/script-run.ts';
import { judgeScript } from './verdict.ts';

const died = { name: 'Error', message: 'worker process exited unexpectedly', stack: null };

function report(testCount: number | undefined): ScriptReport {
  return {
    mode: 'test',
    startedAt: 1,
    end: { status: 'failed', durationMs: 1, at: 2 },
    testCount,
    tests: [],
    steps: [],
    errors: [died],
    broken: undefined,
    findings: [],
    pages: [],
    degraded: undefined,
    softFailureCount: 0,
    secrets: [],
    hasTooManySecrets: false,
    ended: { reason: 'exited', exitCode: 1, signal: null } as ScriptReport['ended'],
    isInterrupted: false,
    runnerOutput: '',
  };
}

it.each([
  ['SCRIPT_INVALID', 'no test was found', undefined],
  ['SCRIPT_INVALID', 'there is no test', 0],
  ['SCRIPT_FAILED', 'the process of its tests died before the first one began', 2],
])('says %s when %s', (code, _when, testCount) => {
  const { failure, errorMessages } = judgeScript(report(testCount), 1000, undefined);
  expect(failure).toMatchObject({ code, message: died.message });
  expect(errorMessages).toEqual([died.message]);
});
