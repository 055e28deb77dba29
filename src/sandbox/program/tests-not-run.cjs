'use strict';
/**
 * Tests that were to run and did not: an earlier test of a serial group failed, `maxFailures` was reached, or the time was
 * over. Playwright counts them as skipped, or reports no result at all; its list of a run says "did not run".
 */

/** Of a test with a result. One that skips itself expects to be skipped. */
function didNotRun(test, result) {
  return result.status === 'skipped' && test.expectedStatus !== 'skipped';
}

/** Those without any result. */
function neverBegun(suite) {
  return (suite?.allTests() ?? []).filter(({ results }) => results.length === 0);
}

/** What is reported of those, in place of a result. */
function noResult() {
  return {
    status: 'skipped',
    isExpected: true,
    isLast: true,
    startedAt: Date.now(),
    durationMs: 0,
    didNotRun: true,
    errors: [],
    attachments: [],
  };
}

module.exports = { didNotRun, neverBegun, noResult };
