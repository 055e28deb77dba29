'use strict';
/**
 * Distinguishes failures of soft assertions from all others, which Playwright's reporters cannot: in the worker, a soft
 * assertion completes its step with the same error that it then fails the test with. If a version of Playwright works
 * differently, nothing is reported and every failure counts as a hard one.
 */
const { note } = require('../events.cjs');

const observed = new WeakSet();
const softErrors = new WeakSet();
let isWatchingExit = false;

function observeFailures(loaded) {
  const prototype = loaded?.TestInfoImpl?.prototype;
  if (!prototype || observed.has(prototype)) return;
  observed.add(prototype);
  watchExitCode();
  const { _addStep: addStep, _failWithError: failWithError } = prototype;
  if (typeof addStep !== 'function' || typeof failWithError !== 'function') return;
  prototype._addStep = function addObservedStep(data, ...rest) {
    const step = addStep.call(this, data, ...rest);
    if (data?.infectParentStepsWithError && typeof step?.complete === 'function') {
      const { complete } = step;
      step.complete = function completeObserved(result) {
        if (typeof result?.error === 'object' && result.error !== null) softErrors.add(result.error);
        return complete.call(this, result);
      };
    }
    return step;
  };
  prototype._failWithError = function failObserved(error, ...rest) {
    if (typeof error === 'object' && error !== null && softErrors.has(error)) {
      note({ event: 'soft-failure', test: String(this.testId ?? '') });
    }
    return failWithError.call(this, error, ...rest);
  };
}

/** Playwright ends the test process with code 0, whatever exit code the tests set: this records their code first. */
function watchExitCode() {
  if (isWatchingExit) return;
  isWatchingExit = true;
  const { exit } = process;
  process.exit = function exitObserved(...args) {
    const code = Number(process.exitCode ?? 0);
    if (code !== 0) note({ event: 'exit-code', code });
    return exit.apply(process, args);
  };
}

module.exports = { observeFailures };
