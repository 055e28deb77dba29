'use strict';
/**
 * Playwright runs tests in a worker process. It forks that process once it knows the tests, and the worker then loads
 * nearly all modules of the runner again. This module forks the worker early, without Playwright's own entry, and hands
 * it out when Playwright forks: to Playwright it is an ordinary worker that starts faster. In any unexpected case
 * (another entry, other descriptors, a second worker, a dead worker) Playwright forks as usual.
 *
 * The same file is the entry of that process: it loads the worker's modules, waits for its environment, and becomes
 * Playwright's worker.
 */
const childProcess = require('node:child_process');
const path = require('node:path');
const { giveBackWhileWaiting } = require('./waiting-memory.cjs');

/** How Playwright's runner connects its workers. */
const stdio = ['ignore', 'pipe', 'pipe', 'ipc'];

let preforked;

/**
 * Forks the worker.
 *
 * @param onLoaded called when it has loaded its modules.
 */
function preforkWorker(modulesDirectory, onLoaded) {
  const { fork } = childProcess;
  const child = fork(__filename, [modulesDirectory], {
    env: {
      ...process.env,
      NODE_OPTIONS: `--require ${JSON.stringify(path.join(__dirname, '../observers/preload.cjs'))}`,
    },
    detached: false,
    stdio,
  });
  const lose = () => {
    preforked = undefined;
  };
  const notify = () => onLoaded?.();
  child.once('exit', lose);
  child.once('error', lose);
  child.once('message', notify);
  preforked = child;
  childProcess.fork = function forkOrHandOver(entry, ...rest) {
    const options = rest.at(-1);
    const isWorker = /[\\/]playwright[\\/]lib[\\/]common[\\/]process(\.js)?$/.test(String(entry));
    const isAsExpected =
      rest.length === 1 && JSON.stringify(options?.stdio) === JSON.stringify(stdio) && !options.execArgv;
    if (!preforked?.connected || !isWorker || !isAsExpected) return fork(entry, ...rest);
    const worker = preforked;
    worker.off('exit', lose);
    worker.off('error', lose);
    worker.off('message', notify);
    preforked = undefined;
    worker.send({ entry, environment: { ...options.env } });
    return worker;
  };
}

/** Ends a forked worker that is not needed. */
function endWorker() {
  preforked?.kill('SIGKILL');
}

/** Loading early must only save time: modules that a version does not have are skipped. */
function loadAll(modulesDirectory, names) {
  for (const name of names) {
    try {
      require(path.join(modulesDirectory, name));
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND' && error.code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') throw error;
    }
  }
}

/** Modules of Playwright's runner. */
const runnerModules = [
  'playwright/lib/program.js',
  'playwright/lib/runner/testRunner.js',
  'playwright/lib/runner/runner.js',
  'playwright/lib/transform/babelBundle.js',
  'playwright/lib/reporters/json.js',
  '@playwright/test/index.js',
];

/** Modules of workerMain.js. Not that module itself: it loads the entry, which starts communicating at once. */
const workerModules = [
  'playwright-core/index.js',
  'playwright/lib/index.js',
  '@playwright/test/index.js',
  'playwright/lib/worker/fixtureRunner.js',
  'playwright/lib/worker/testInfo.js',
  'playwright/lib/worker/timeoutManager.js',
  'playwright/lib/worker/util.js',
  'playwright/lib/common/configLoader.js',
  'playwright/lib/common/poolBuilder.js',
  'playwright/lib/common/suiteUtils.js',
  'playwright/lib/common/testLoader.js',
  'playwright/lib/matchers/expect.js',
];

if (require.main === module) {
  let stopWaiting;
  process.once('message', ({ entry, environment }) => {
    stopWaiting?.();
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
    for (const [name, value] of Object.entries(environment)) process.env[name] = value;
    process.chdir(environment.PICKET_DIRECTORY);
    process.argv = [process.argv[0], entry];
    require(entry);
  });
  loadAll(process.argv[2], workerModules);
  stopWaiting = giveBackWhileWaiting();
  process.send('loaded');
}

module.exports = { preforkWorker, endWorker, loadAll, runnerModules };
