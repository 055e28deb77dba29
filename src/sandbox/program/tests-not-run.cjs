'use strict';
/**
 * Tests that should have run but did not: an earlier test of a serial group failed, `maxFailures` was reached, or the
 * time ran out. Playwright counts them as skipped or reports no result at all; its summary of a run says "did not run".
 */

/** For a test with a result. A test that skips itself expects to be skipped. */
function didNotRun(test, result) {
  return result.status === 'skipped' && test.expectedStatus !== 'skipped';
}

/** Tests without any result. */
function neverBegun(suite) {
  return (suite?.allTests() ?? []).filter(({ results }) => results.length === 0);
}

/** The substitute result for such tests. */
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
