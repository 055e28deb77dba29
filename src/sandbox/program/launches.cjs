'use strict';
const { testTimeoutIn } = require('./foreign-texts.cjs');

/** A launch that takes this long, or half of the test or run, hangs. */
const hangingMs = 10_000;

/**
 * The error of a test or a run that ended while its browser was starting. Programs read `launchMs`.
 *
 * @param before prefix of the message.
 */
function notStarted(launchMs, before = '') {
  return { message: `${before}the browser had not started after ${launchMs} ms`, launchMs };
}

/**
 * Tracks which tests wait for a browser to start, from the steps reported by Playwright. For Playwright a browser that
 * hangs during its start is not an error of its own: the test or the run just times out.
 */
class Launches {
  /** Start times of launches in progress, by test. */
  #begun = new Map();

  stepBegan(test, step) {
    if (isLaunch(step)) this.#begun.set(test.id, step.startTime.getTime());
  }

  stepEnded(test, step) {
    if (isLaunch(step)) this.#begun.delete(test.id);
  }

  /** Returns the errors of a test; a timeout error names the browser that had not started. */
  errorsOf(test, result) {
    const launchMs = this.#hangingMs(test.id, result.duration);
    this.#begun.delete(test.id);
    if (launchMs === undefined) return result.errors;
    return result.errors.map((error) => {
      const late = testTimeoutIn(error.message ?? '');
      return late === undefined ? error : { ...error, ...notStarted(launchMs, `${late}: `) };
    });
  }

  /** Returns the error of a run that ended during a launch; undefined if no launch was in progress. */
  hangingAtEnd(durationMs) {
    for (const test of this.#begun.keys()) {
      const launchMs = this.#hangingMs(test, durationMs);
      if (launchMs !== undefined) return notStartedError(launchMs);
    }
    return undefined;
  }

  #hangingMs(test, durationMs) {
    const begun = this.#begun.get(test);
    return begun === undefined ? undefined : hangingMsOf(Date.now() - begun, durationMs);
  }
}

/** @param wholeMs duration of the test or run that contains the launch. */
function hangingError(launchMs, wholeMs) {
  const ms = hangingMsOf(launchMs, wholeMs);
  return ms === undefined ? undefined : notStartedError(ms);
}

function hangingMsOf(ms, wholeMs) {
  return ms >= Math.min(hangingMs, wholeMs / 2) ? Math.round(ms) : undefined;
}

function notStartedError(launchMs) {
  const { message, ...facts } = notStarted(launchMs);
  return Object.assign(new Error(message), facts);
}

function isLaunch({ category, title }) {
  return category === 'pw:api' && /^(?:browserType\.launch|Launch )/.test(title);
}

module.exports = { Launches, hangingError };
