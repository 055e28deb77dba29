'use strict';
const { testTimeoutIn } = require('./foreign-texts.cjs');

/** A launch that is under way for this long, or for half of what it is part of, hangs. */
const hangingMs = 10_000;

/**
 * The error of a test or a run that ended while its browser was starting. Programs read `launchMs`.
 *
 * @param before what else there is to say.
 */
function notStarted(launchMs, before = '') {
  return { message: `${before}the browser had not started after ${launchMs} ms`, launchMs };
}

/**
 * Which tests wait for a browser to start, by the steps that a reporter hears of. A browser that hangs while it starts
 * is no error of its own to Playwright: the time of the test, or of the run, is over.
 */
class Launches {
  /** The instant at which the launch of a test began that has not ended, by the test. */
  #begun = new Map();

  stepBegan(test, step) {
    if (isLaunch(step)) this.#begun.set(test.id, step.startTime.getTime());
  }

  stepEnded(test, step) {
    if (isLaunch(step)) this.#begun.delete(test.id);
  }

  /** The errors of a test: where its time was over, the browser that had not started by then is named. */
  errorsOf(test, result) {
    const launchMs = this.#hangingMs(test.id, result.duration);
    this.#begun.delete(test.id);
    if (launchMs === undefined) return result.errors;
    return result.errors.map((error) => {
      const late = testTimeoutIn(error.message ?? '');
      return late === undefined ? error : { ...error, ...notStarted(launchMs, `${late}: `) };
    });
  }

  /** The error of a run that ended with a launch under way; undefined where none was. */
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

/** @param wholeMs how long what the launch is part of took. */
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
