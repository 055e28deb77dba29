'use strict';
/**
 * Loads what every run of a runtime loads, so that Node writes it, compiled, to the folder in NODE_COMPILE_CACHE. No script
 * ever runs in this process.
 */

const modulesDirectory = process.argv[2];
process.env.PICKET_MODULES = modulesDirectory;
require('./preload.cjs');
require('./events.cjs');
require('./script-source.cjs');
require('./reporter.cjs');
const { loadAll, runnerModules, startModuleLoader, workerModules } = require('./worker-ahead.cjs');

loadAll(modulesDirectory, [...runnerModules, ...workerModules, 'playwright/lib/worker/workerMain.js']);
startModuleLoader(modulesDirectory);
require('node:module').flushCompileCache();
// The thread for modules writes its part when it ends.
process.exit(0);
