'use strict';
/**
 * A process that runs the setup and teardown scripts of one run, one after the other: `node lifecycle-main.cjs MODULES
 * [warm]`. It reads JSON lines from standard input: first the job (directory, variables, names of the secret ones,
 * snippets), then each script (its text, the request and, after the run, the response). It answers each script with one
 * line on descriptor 3. Scripts' output uses the same channel, so that the order is preserved. The process may be
 * started before its job is known.
 *
 * Scripts see `request` and `response` as globals. All scripts of one run share this process: changes of one, for
 * example to a variable of `process.env`, are visible to the next.
 */
require('../own-user.cjs');
const util = require('node:util');
const { describe, sendLoaded, senderWith, text } = require('../events.cjs');
const { keepCallSites } = require('../call-sites.cjs');
const { LifecycleScript } = require('./lifecycle-script.cjs');
const { changedVariables, readBody, readRequest } = require('./lifecycle-values.cjs');
const { refuseModules } = require('./script-modules.cjs');
const { watchSecrets } = require('../secret-watch.cjs');

const modulesDirectory = process.argv[2];
const maxTextLength = 8192;
/** Limit for one line to the agent; see maxEventLineBytes. */
const maxAnswerBytes = 1000 * 1000;

let job;
/** Writes a line with the run's token. */
let send;
let variablesBefore;
/** Ends the running script if it fails outside its own promise. */
let fail;

/** Incomplete lines, by level. */
const unfinished = new Map();

function say(level, written) {
  send({ event: 'line', level, text: text(written) });
}

/** Joins writes to lines: a secret split over several writes would not be found. */
function write(level, written) {
  const lines = `${unfinished.get(level) ?? ''}${written}`.split('\n');
  unfinished.set(level, lines.pop() ?? '');
  for (const line of lines) say(level, line);
  if ((unfinished.get(level)?.length ?? 0) > maxTextLength) finishLines();
}

function finishLines() {
  for (const [level, line] of unfinished) if (line !== '') say(level, line);
  unfinished.clear();
}

/** Redirects scripts' output to the channel of the answers: two pipes would lose the order. */
function hearOutput() {
  const levels = { debug: 'DEBUG', log: 'INFO', info: 'INFO', warn: 'WARN', error: 'ERROR', trace: 'ERROR' };
  for (const [method, level] of Object.entries(levels)) {
    console[method] = (...given) => say(level, util.format(...given));
  }
  for (const [stream, level] of [
    [process.stdout, 'INFO'],
    [process.stderr, 'ERROR'],
  ]) {
    stream.write = (chunk, encoding, done) => {
      write(level, Buffer.from(chunk).toString('utf8'));
      const then = typeof encoding === 'function' ? encoding : done;
      if (then) process.nextTick(then);
      return true;
    };
  }
}

function begin({ token, ...given }) {
  job = given;
  send = senderWith(token);
  process.chdir(job.directory);
  for (const [name, value] of Object.entries(job.variables)) process.env[name] = value;
  variablesBefore = { ...process.env };
  watchSecrets(send, job.secretNames);
  refuseModules(modulesDirectory);
  hearOutput();
  keepCallSites();
}

/** Runs one script and reports its result. */
async function runScript({ script, path, files, request, response }) {
  const startedMs = performance.now();
  const bodyBefore = response?.body;
  globalThis.request = request;
  if (response) globalThis.response = response;
  let answer;
  try {
    const broken = new Promise((_resolve, reject) => {
      fail = reject;
    });
    await Promise.race([
      new LifecycleScript(script, { ...job, modulesDirectory, path, files }).run(),
      broken,
    ]);
    answer = {
      ...(response
        ? readBody(globalThis.response, bodyBefore)
        : { request: readRequest(globalThis.request) }),
      variables: changedVariables(variablesBefore, process.env),
    };
  } catch (error) {
    const isInvalid = error instanceof SyntaxError && error.isOfScript === true;
    answer = { error: { ...describe(error), isInvalid } };
  }
  fail = undefined;
  finishLines();
  answer = { event: 'script-end', durationMs: performance.now() - startedMs, ...answer };
  if (Buffer.byteLength(JSON.stringify(answer)) > maxAnswerBytes) {
    const error = new Error('The changes made by the script are too large');
    answer = {
      event: 'script-end',
      durationMs: answer.durationMs,
      error: { ...describe(error), isInvalid: false },
    };
  }
  send(answer);
}

/** A failure after the end of its script is logged and has no other effect. */
function failOutside(error) {
  if (fail) fail(error);
  else say('ERROR', `After the script had ended: ${util.format(error)}`);
}

/** Calls back with every line of standard input, of any length. */
function readLines(onLine) {
  let parts = [];
  process.stdin.on('data', (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, end));
      onLine(Buffer.concat(parts).toString('utf8'));
      parts = [];
      from = end + 1;
    }
    parts.push(chunk.subarray(from));
  });
}

async function main() {
  process.on('uncaughtException', failOutside);
  process.on('unhandledRejection', failOutside);
  if (process.argv[3] === 'warm') {
    // Loads common modules of scripts: the client behind fetch() and the modules for TLS.
    await fetch('data:,').then((answer) => answer.text());
    require('node:https');
  }
  let turn = Promise.resolve();
  readLines((line) => {
    const message = JSON.parse(line);
    if (job) turn = turn.then(() => runScript(message));
    else begin(message);
  });
  if (process.argv[3] === 'warm') sendLoaded();
}

void main();
