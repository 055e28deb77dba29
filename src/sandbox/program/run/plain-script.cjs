'use strict';
/**
 * Runs a script without test(): its text becomes an async function, so that `await` and `require` both work at its top
 * level. It passes when the function has returned and no work that it started is pending.
 */
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');
const { describe } = require('../events.cjs');
const { asFunctionBody, isWithoutAction, parse, withoutTypes } = require('../script-source.cjs');
const { hangingError } = require('../launches.cjs');
const { keepFailure, launchingMs } = require('../observers/preload.cjs');

/** Time limit for collecting evidence of a failure. */
const failureTimeoutMs = 4000;

/**
 * @param job the agent's job; see launch.cjs.
 * @param send writes to the agent.
 */
async function runPlainScript(job, send) {
  const startedMs = performance.now();
  let isOver = false;
  let failed;
  const end = () => {
    if (isOver) return;
    isOver = true;
    if (failed) send({ event: 'error', error: describe(failed.error) });
    send({ event: 'end', status: failed ? 'failed' : 'passed', durationMs: performance.now() - startedMs });
  };
  const fail = async (error) => {
    if (failed) return;
    failed = { error };
    // Resources that the script left open, such as a browser, must not keep a failed run alive.
    await withinLimit(keepFailure());
    end();
    process.exit(1);
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  process.on('SIGINT', async () => {
    const launchMs = launchingMs();
    const hanging = launchMs > 0 && hangingError(launchMs, performance.now() - startedMs);
    if (hanging) send({ event: 'error', error: describe(hanging) });
    await withinLimit(keepFailure());
    send({ event: 'end', status: 'interrupted', durationMs: performance.now() - startedMs });
    process.exit(130);
  });

  const transform = require(path.join(job.modulesDirectory, 'playwright/lib/transform/transform.js'));
  // Loading any file through Playwright's transform enables it: modules of the check may be TypeScript, too.
  await transform.requireOrImport(path.join(__dirname, '../events.cjs'));
  const file = path.join(job.directory, job.entry);
  let hasReturned = false;
  process.on('beforeExit', () => {
    if (isOver) return;
    if (!hasReturned) failed = { error: new Error('The script waits for something that never happens') };
    else if (Number(process.exitCode ?? 0) !== 0) {
      failed = { error: new Error(`The script set process.exitCode to ${process.exitCode}`) };
    }
    end();
    process.exit(failed ? 1 : 0);
  });
  try {
    const script = compile(file, job.modulesDirectory);
    // Sent late: a script that never begins counts as one that cannot be run.
    send({ event: 'begin', tests: null });
    await script();
    hasReturned = true;
  } catch (error) {
    await fail(error);
  }
}

function withinLimit(promise) {
  return Promise.race([promise, new Promise((resolve) => setTimeout(resolve, failureTimeoutMs))]);
}

/** Compiles the script to an async function. */
function compile(file, modulesDirectory) {
  const source = fs.readFileSync(file, 'utf8');
  const tree = parse(modulesDirectory, source);
  if (isWithoutAction(tree)) {
    throw new Error(
      'The script does nothing: it has no test, and no statement outside of functions that calls anything',
    );
  }
  const body = asFunctionBody(source, tree);
  const module = new Module(file, null);
  module.filename = file;
  module.paths = Module._nodeModulePaths(path.dirname(file));
  const require = Module.createRequire(file);
  const wrapped = `(async function (exports, require, module, __filename, __dirname) {${body}\n})`;
  const run = vm.runInThisContext(withoutTypes(wrapped), { filename: file });
  return () => run.call(module.exports, module.exports, require, module, file, path.dirname(file));
}

module.exports = { runPlainScript };
