'use strict';
/**
 * Loads and uses what every run of a runtime does, so that Node writes it, compiled, to the folder in NODE_COMPILE_CACHE: of a
 * module all functions that were called by then. No script ever runs in this process.
 */
const Module = require('node:module');
const path = require('node:path');

const modulesDirectory = process.argv[2];
process.env.PICKET_MODULES = modulesDirectory;
process.env.PWTEST_CACHE_DIR = path.join(process.cwd(), 'cache');
require('./preload.cjs');
require('./events.cjs');
require('./script-source.cjs');
require('./reporter.cjs');
const { loadAll, runnerModules, workerModules } = require('./worker-ahead.cjs');
const { rehearseRunner, rehearseWorker } = require('./rehearsal.cjs');

loadAll(modulesDirectory, [...runnerModules, ...workerModules, 'playwright/lib/worker/workerMain.js']);
// The thread that scripts with ES modules need.
require(path.join(modulesDirectory, 'playwright/lib/common/esmLoaderHost.js')).registerESMLoader();
rehearseRunner(modulesDirectory)
  .then(() => rehearseWorker(modulesDirectory))
  .then(() => {
    Module.flushCompileCache();
    // The thread for modules writes its part when it ends.
    process.exit(0);
  });
