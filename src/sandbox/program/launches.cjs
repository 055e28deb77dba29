'use strict';
/** A launch that is under way for this long, or for half of what it is part of, hangs. */
const hangingMs = 10_000;

/** How a report says that a test or a run ended while its browser was starting; checks/script/browser-text.ts reads it. */
function notStarted(ms) {
  return `the browser had not started after ${Math.round(ms)} ms`;
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
    const words = this.#hanging(test.id, result.duration);
    this.#begun.delete(test.id);
    if (words === undefined) return result.errors;
    return result.errors.map((error) => {
      const late = /Test timeout of \d+ms exceeded/.exec(error.message ?? '');
      return late ? { ...error, message: `${late[0]}: ${words}` } : error;
    });
  }

  /** Of a run that ended: what says that it ended with a launch under way; undefined where none was. */
  hangingAtEnd(durationMs) {
    for (const test of this.#begun.keys()) {
      const words = this.#hanging(test, durationMs);
      if (words !== undefined) return words;
    }
    return undefined;
  }

  #hanging(test, durationMs) {
    const begun = this.#begun.get(test);
    return begun === undefined ? undefined : hangingFor(Date.now() - begun, durationMs);
  }
}

/** @param wholeMs how long what the launch is part of took. */
function hangingFor(ms, wholeMs) {
  return ms >= Math.min(hangingMs, wholeMs / 2) ? notStarted(ms) : undefined;
}

function isLaunch({ category, title }) {
  return category === 'pw:api' && /^(?:browserType\.launch|Launch )/.test(title);
}

module.exports = { Launches, hangingFor };
