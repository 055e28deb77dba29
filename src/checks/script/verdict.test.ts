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
    browsers: [],
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
    /no firefox: a check that opens it names it in "browsers"/,
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
  [
    'browserType.launch: \n╔═══════╗\n║ Host system is missing dependencies to run browsers. ║\n║ Please install them',
    /lacks libraries of its host/,
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

it.each([
  [
    "browserType.launch: Executable doesn't exist at /b/firefox-1489/firefox/firefox",
    ['chromium'],
    'firefox',
  ],
  [
    "browserType.launch: Executable doesn't exist at /b/chromium_headless_shell-1208/chrome-headless-shell-linux64/chrome-headless-shell",
    ['webkit'],
    'chromium',
  ],
  [
    "browserType.launch: Chromium distribution 'msedge' is not found at /opt/microsoft/msedge/msedge",
    ['chromium', 'chrome'],
    'msedge',
  ],
])('attributes a browser that the check does not name to its definition: %s', (message, named, name) => {
  const unnamed = { ...died, message };
  const { failure } = judgeScript({ ...report(2), errors: [unnamed] }, 1000, undefined, named);
  expect(failure).toMatchObject({ owner: 'config', code: 'SCRIPT_INVALID' });
  expect(failure?.message).toContain(`add ${name} to "browsers"`);
  const both = judgeScript({ ...report(2), errors: [unnamed, died] }, 1000, undefined, named);
  expect(both.failure).toMatchObject({ owner: 'target', code: 'SCRIPT_FAILED' });
});
