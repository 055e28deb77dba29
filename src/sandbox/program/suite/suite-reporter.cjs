'use strict';
/**
 * Playwright's reporter for suites. It is added to the suite's own reporters (`PW_TEST_REPORTER`) and writes to the
 * run's file of notes: descriptors are not inherited through npx and scripts of package.json.
 */
const { note, text, describe } = require('../events.cjs');
const { didNotRun, neverBegun, noResult } = require('../tests-not-run.cjs');
const { Launches } = require('../launches.cjs');
const { joinOutputOf } = require('../observers/output-observer.cjs');

class SuiteReporter {
  #suite;
  #launches = new Launches();

  onBegin(config, suite) {
    this.#suite = suite;
    note({ event: 'suite-begin', playwrightVersion: config.version });
  }

  onError(error) {
    note({ event: 'suite-error', error: describe(error), file: error.location?.file ?? null });
  }

  onStepBegin(test, _result, step) {
    this.#launches.stepBegan(test, step);
  }

  onStepEnd(test, _result, step) {
    this.#launches.stepEnded(test, step);
  }

  onTestEnd(test, result) {
    // Reporters that write at the end, such as JSON and HTML, get the output in one piece.
    joinOutputOf(result);
    const isExpected = result.status === 'skipped' || result.status === test.expectedStatus;
    const errors = this.#launches.errorsOf(test, result);
    note({
      event: 'suite-test',
      ...namesOf(test),
      status: result.status,
      isExpected,
      isLast: isExpected || result.retry === test.retries,
      retry: result.retry,
      startedAt: result.startTime.getTime(),
      durationMs: result.duration,
      didNotRun: didNotRun(test, result),
      errors: isExpected ? [] : errors.slice(0, 20).map((error) => describe(error, test.location)),
      attachments: result.attachments
        .filter(({ path }) => path)
        .slice(0, 50)
        .map(({ name, contentType, path }) => ({ name: text(name, 200), contentType, path })),
    });
  }

  onEnd(result) {
    for (const test of neverBegun(this.#suite)) {
      note({ event: 'suite-test', ...namesOf(test), retry: 0, ...noResult() });
    }
    const hanging = result.status === 'passed' ? undefined : this.#launches.hangingAtEnd(result.duration);
    if (hanging !== undefined) {
      note({ event: 'suite-error', error: describe(hanging), file: null });
    }
    const outcomes = { expected: 0, unexpected: 0, flaky: 0, skipped: 0 };
    for (const test of this.#suite?.allTests() ?? []) outcomes[test.outcome()] += 1;
    note({ event: 'suite-end', status: result.status, durationMs: result.duration, outcomes });
  }

  printsToStdio() {
    return false;
  }
}

function namesOf(test) {
  const [, project = '', file = '', ...titles] = test.titlePath();
  return {
    test: test.id,
    title: text(titles.at(-1), 500),
    file: text(file, 500),
    project: text(project, 200),
    suitePath: titles.slice(0, -1).map((title) => text(title, 200)),
  };
}

module.exports = SuiteReporter;
