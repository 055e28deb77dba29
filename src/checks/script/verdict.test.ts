import type { ScriptReport } from '@picket/sandbox/scripts/script-run.ts';
import { expect, it } from 'vitest';
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
    testExitCode: undefined,
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

it.each([
  [
    "browserType.launch: Executable doesn't exist at /root/.cache/ms-playwright/firefox-1489/firefox/firefox\nbox",
    /no firefox: it can only open Chromium/,
  ],
  ["browserType.launch: Executable doesn't exist at /b/webkit-2191/pw_run.sh", /no webkit/],
  [
    "browserType.launch: Chromium distribution 'chrome' is not found at /opt/google/chrome/chrome",
    /no browser "chrome"/,
  ],
  [
    'browserType.launch: Target page, context or browser has been closed\nBrowser logs:',
    /does not start: Target page/,
  ],
  ['browserType.launch: Timeout 30000ms exceeded.\nCall log:', /does not start: Timeout/],
  ["browserContext.newPage: Executable doesn't exist at /b/ffmpeg-1011/ffmpeg-linux", /no ffmpeg/],
])('attributes a browser that is missing or does not start to the agent: %s', (message, words) => {
  const broken = { ...died, message: `Error: ${message}` };
  const { failure } = judgeScript({ ...report(2), errors: [broken] }, 1000, undefined);
  expect(failure).toMatchObject({ owner: 'agent', code: 'BROWSER_MISSING' });
  expect(failure?.message).toMatch(words);
  // Further errors still count for the target.
  const both = judgeScript({ ...report(2), errors: [broken, died] }, 1000, undefined);
  expect(both.failure).toMatchObject({ owner: 'target', code: 'SCRIPT_FAILED' });
});

it.each([
  ['the time of a test', undefined],
  ['the time of the run', 'timed-out'],
] as const)(
  'reads from a field that a browser was still starting when %s was over, regardless of the message',
  (_what, stopped) => {
    const late = { ...died, message: 'any words', launchMs: 2017 };
    const { failure } = judgeScript({ ...report(2), errors: [late] }, 1000, stopped);
    expect(failure).toMatchObject({ owner: 'agent', code: 'BROWSER_MISSING' });
    expect(failure?.message).toMatch(/does not start: it had not started after 2017 ms/);
  },
);
