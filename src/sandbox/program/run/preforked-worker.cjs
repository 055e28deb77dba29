'use strict';
/**
 * Playwright runs tests in a worker process. It forks that process once it knows the tests, and the worker then loads
 * nearly all modules of the runner again. This module forks the worker early, without Playwright's own entry, and hands
 * it out when Playwright forks: to Playwright it is an ordinary worker that starts faster. In any unexpected case
 * (another entry, other descriptors, a second worker, a dead worker) Playwright forks as usual.
 *
 * The same file is the entry of that process: it starts the browser if the run has one, loads the worker's modules, waits
 * for its environment, and becomes Playwright's worker.
 */
const childProcess = require('node:child_process');
const path = require('node:path');
const { endEarly, startEarly, watchLaunches } = require('./early-browser.cjs');
const { loadLate } = require('./late-modules.cjs');
const { giveBackWhileWaiting } = require('./waiting-memory.cjs');

/** How Playwright's runner connects its workers. */
const stdio = ['ignore', 'pipe', 'pipe', 'ipc'];

let preforked;
let hasBrowser = false;

/**
 * Forks the worker.
 *
 * @param options.browser of the browser to start with it, `startEarly` of early-browser.cjs; without it none is started.
 * @param options.onLoaded called when it has loaded its modules.
 */
function preforkWorker(modulesDirectory, { browser, onLoaded } = {}) {
  const { fork } = childProcess;
  hasBrowser = browser !== undefined;
  const child = fork(__filename, [modulesDirectory, ...(browser ? [JSON.stringify(browser)] : [])], {
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
  // Without a connection it ends its browser, too.
  if (hasBrowser && preforked?.connected) preforked.disconnect();
  else preforked?.kill('SIGKILL');
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

/** Babel, with which the runner has rewritten the files of the script already. */
const unusedModule = /(^|[\\/])babelBundle(\.js)?$/;

async function main(modulesDirectory, browser) {
  let stopWaiting;
  const end = () => {
    endEarly();
    process.exit();
  };
  process.once('disconnect', end);
  const loaded = Promise.withResolvers();
  process.once('message', async ({ entry, environment }) => {
    await loaded.promise;
    process.off('disconnect', end);
    stopWaiting?.();
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
    for (const [name, value] of Object.entries(environment)) process.env[name] = value;
    process.chdir(environment.PICKET_DIRECTORY);
    process.argv = [process.argv[0], entry];
    // As in launch.cjs.
    require('./playwright-config.cjs');
    require(entry);
  });
  loadLate(unusedModule);
  const [first, ...others] = workerModules;
  if (browser !== undefined) watchLaunches();
  loadAll(modulesDirectory, [first]);
  if (browser !== undefined) {
    const { chromium } = require(path.join(modulesDirectory, first));
    await startEarly(chromium, JSON.parse(browser));
  }
  loadAll(modulesDirectory, others);
  stopWaiting = giveBackWhileWaiting();
  loaded.resolve();
  process.send('loaded');
}

if (require.main === module) void main(...process.argv.slice(2));

module.exports = { preforkWorker, endWorker, loadAll, runnerModules };
