'use strict';
/**
 * Playwright's reporter for the agent: what the runner learns goes to descriptor 3 as it happens.
 *
 * Once everything is written the agent ends the run. Where no script has anything that outlives its tests, that is when the last
 * one has ended as it should: what the runner and its worker would still do is tidying up what is thrown away. Of every other
 * run it is when Playwright is through.
 */
const path = require('node:path');
const { StringDecoder } = require('node:string_decoder');
const { send, text, describe } = require('./events.cjs');
const { joinedOutput } = require('./output-observer.cjs');
const { endAhead } = require('./worker-ahead.cjs');

const maxSteps = 1000;
/** Output is told in parts of at most this length; none of it is left out, and the agent makes lines of it. */
const maxPartLength = 8192;
/** How long a run whose agent does not end it holds still, in milliseconds, until it goes the usual way. */
const stillMs = 5000;

class EventReporter {
  #steps = 0;
  #stepCount = new Map();
  #run = JSON.parse(process.env.PICKET_RUN ?? '{}');
  #config;
  #suite;
  #startedAt;
  #startedMs;
  /** Tests that need not run again and ended as they should. */
  #goodTests = new Set();
  #hasErrors = false;
  #ending;
  #isOver = false;
  #decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };

  onBegin(config, suite) {
    this.#config = config;
    this.#suite = suite;
    this.#startedAt = new Date();
    this.#startedMs = performance.now();
    send({ event: 'begin', tests: suite.allTests().length, playwrightVersion: config.version });
  }

  onTestBegin(test) {
    send({ event: 'test-begin', test: test.id, title: titleOf(test) });
  }

  onStepEnd(test, _result, step) {
    this.#stepCount.set(test.id, (this.#stepCount.get(test.id) ?? 0) + 1);
    if (this.#steps >= maxSteps) return;
    this.#steps += 1;
    send({
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
    this.#tellOutput('stdout', chunk, test);
  }

  onStdErr(chunk, test) {
    this.#tellOutput('stderr', chunk, test);
  }

  #tellOutput(stream, chunk, test) {
    const output = typeof chunk === 'string' ? chunk : this.#decoders[stream].write(chunk);
    for (let from = 0; from < output.length; from += maxPartLength) {
      // Without a test it is the collecting run: the worker writes the same once more.
      send({ event: 'output', stream, text: output.slice(from, from + maxPartLength), isCollecting: !test });
    }
  }

  onError(error) {
    if (this.#isOver) return;
    this.#hasErrors = true;
    send({ event: 'error', error: describe(error) });
  }

  onTestEnd(test, result) {
    send({
      event: 'test-end',
      test: test.id,
      title: titleOf(test),
      status: result.status,
      isExpected: result.status === 'skipped' || result.status === test.expectedStatus,
      isLast: result.retry === test.retries || result.status === test.expectedStatus,
      startedAt: result.startTime.getTime(),
      durationMs: result.duration,
      errors: result.errors.slice(0, 50).map(describe),
      attachments: result.attachments
        .filter(({ path }) => path)
        .slice(0, 100)
        .map(({ name, contentType, path }) => ({ name: text(name, 200), contentType, path })),
    });
    if (result.status === 'skipped' || result.status === test.expectedStatus) this.#goodTests.add(test.id);
    const isLast = this.#goodTests.size === this.#suite.allTests().length;
    if (isLast && this.#run.endsWithLastTest && !this.#hasErrors) this.#ending ??= this.#endNow();
  }

  /** Writes what Playwright would write in the end, tells that all is written, and lets nothing change it any more. */
  async #endNow() {
    const result = {
      status: 'passed',
      startTime: this.#startedAt,
      duration: performance.now() - this.#startedMs,
    };
    let report;
    try {
      const json = require(path.join(process.env.PICKET_MODULES, 'playwright/lib/reporters/json.js'));
      const outputFile = path.join(this.#run.privateDirectory, 'report.json');
      report = new json.default({ configDir: this.#run.directory, outputFile });
      this.#joinOutput();
      report.onConfigure(this.#config);
      report.onBegin(this.#suite);
    } catch (error) {
      // A version that has it elsewhere goes the usual way.
      if (error instanceof Error) return;
      throw error;
    }
    this.#isOver = true;
    // The worker takes as long to die as the report to be written. That Playwright misses it is no news any more.
    endAhead();
    try {
      await report.onEnd(result);
    } catch (error) {
      // A disk that is full: the run goes without its report.
      if (!(error instanceof Error)) throw error;
    }
    send({ event: 'end', status: result.status, durationMs: result.duration });
    send({ event: 'written' });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stillMs);
  }

  async onEnd(result) {
    await this.#ending;
    this.#joinOutput();
    send({ event: 'end', status: result.status, durationMs: result.duration });
  }

  #joinOutput() {
    // The reporter that comes next writes these into the report, which is searched for secrets as a whole.
    for (const { results } of this.#suite?.allTests() ?? []) {
      for (const one of results) {
        for (const stream of ['stdout', 'stderr'])
          if (one[stream].length > 1) one[stream] = [joinedOutput(one[stream])];
      }
    }
  }

  /** Called when every reporter has written what it writes, and nothing is left but the end of the process. */
  onExit() {
    send({ event: 'written' });
  }

  printsToStdio() {
    return true;
  }
}

function titleOf(test) {
  // The first two are the project and the file, which a check has one of each.
  return test
    .titlePath()
    .slice(3)
    .map((part) => text(part, 200))
    .join(' › ');
}

module.exports = EventReporter;
