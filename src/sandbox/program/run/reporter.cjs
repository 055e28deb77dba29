'use strict';
/** Playwright's reporter for the agent: writes events to descriptor 3 as they happen. */
const { StringDecoder } = require('node:string_decoder');
const { text, describe } = require('../events.cjs');
const { didNotRun, neverBegun, noResult } = require('../tests-not-run.cjs');
const { Launches } = require('../launches.cjs');
const { joinOutputOf } = require('../observers/output-observer.cjs');

const maxSteps = 1000;
/** Output is sent in parts of at most this length; nothing is dropped, and the agent joins it to lines. */
const maxPartLength = 8192;

/** The send function for the next reporter. */
let untaken;

class EventReporter {
  #send = untaken ?? (() => undefined);
  #steps = 0;
  #stepCount = new Map();
  #launches = new Launches();
  /** Place of the failed step of a test, by test: the innermost step ends first. */
  #failedAt = new Map();
  #suite;
  #decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };

  constructor() {
    // Playwright creates its reporters before it loads the tests: one that a script creates cannot send anything.
    untaken = undefined;
  }

  /** Provides the send function for the next reporter. */
  static equip(send) {
    untaken = send;
  }

  onBegin(_config, suite) {
    this.#suite = suite;
    this.#send({ event: 'begin', tests: suite.allTests().length });
  }

  onStepBegin(test, _result, step) {
    this.#launches.stepBegan(test, step);
  }

  onStepEnd(test, _result, step) {
    this.#launches.stepEnded(test, step);
    if (step.error && step.location && !this.#failedAt.has(test.id))
      this.#failedAt.set(test.id, step.location);
    this.#stepCount.set(test.id, (this.#stepCount.get(test.id) ?? 0) + 1);
    if (this.#steps >= maxSteps) return;
    this.#steps += 1;
    this.#send({
      event: 'step',
      test: test.id,
      title: text(step.title, 500),
      category: step.category,
      depth: step.titlePath().length - 1,
      startedAt: step.startTime.getTime(),
      durationMs: step.duration,
      error: step.error ? describe(step.error).message : null,
      location: step.location ? { line: step.location.line, column: step.location.column } : null,
    });
  }

  onStdOut(chunk, test) {
    this.#sendOutput('stdout', chunk, test);
  }

  onStdErr(chunk, test) {
    this.#sendOutput('stderr', chunk, test);
  }

  #sendOutput(stream, chunk, test) {
    const output = typeof chunk === 'string' ? chunk : this.#decoders[stream].write(chunk);
    for (let from = 0; from < output.length; from += maxPartLength) {
      // Output without a test comes from collecting the tests: the worker writes the same again.
      this.#send({
        event: 'output',
        stream,
        text: output.slice(from, from + maxPartLength),
        isCollecting: !test,
      });
    }
  }

  onError(error) {
    this.#send({ event: 'error', error: describe(error) });
  }

  onTestEnd(test, result) {
    this.#send({
      event: 'test-end',
      test: test.id,
      title: titleOf(test),
      status: result.status,
      isExpected: result.status === 'skipped' || result.status === test.expectedStatus,
      isLast: result.retry === test.retries || result.status === test.expectedStatus,
      startedAt: result.startTime.getTime(),
      durationMs: result.duration,
      didNotRun: didNotRun(test, result),
      errors: this.#launches
        .errorsOf(test, result)
        .slice(0, 50)
        .map((error) => describe(error, this.#failedAt.get(test.id) ?? test.location)),
      attachments: result.attachments
        .filter(({ path }) => path)
        .slice(0, 100)
        .map(({ name, contentType, path }) => ({ name: text(name, 200), contentType, path })),
    });
  }

  onEnd(result) {
    // The next reporter writes these into the report, which is searched for secrets as a whole.
    for (const { results } of this.#suite?.allTests() ?? []) {
      for (const one of results) joinOutputOf(one);
    }
    for (const test of neverBegun(this.#suite)) {
      this.#send({ event: 'test-end', test: test.id, title: titleOf(test), ...noResult() });
    }
    const hanging = result.status === 'passed' ? undefined : this.#launches.hangingAtEnd(result.duration);
    if (hanging !== undefined) this.#send({ event: 'error', error: describe(hanging) });
    this.#send({ event: 'end', status: result.status, durationMs: result.duration });
  }

  printsToStdio() {
    return true;
  }
}

function titleOf(test) {
  // The first two are the project and the file; a check has only one of each.
  return test
    .titlePath()
    .slice(3)
    .map((part) => text(part, 200))
    .join(' › ');
}

// Prevents a script from suppressing events.
Object.freeze(EventReporter.prototype);
module.exports = Object.freeze(EventReporter);
