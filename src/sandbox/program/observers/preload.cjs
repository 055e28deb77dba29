'use strict';
/**
 * Preloaded in every Node process of a run. It observes the script without changing its behaviour, and provides the
 * package @service/playwright-helpers.
 */
require('../own-user.cjs');
// Before anything large is loaded.
const { PICKET_MODULES: modules, PICKET_RECORDS: records, PICKET_RECORDS_BEFORE: before } = process.env;
if (records) require('../compiled-code.cjs').recordSample(modules, records, before);
else if (modules) require('../compiled-code.cjs').useCompiledCode(modules);
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');
const { note, text } = require('../events.cjs');
const { keepCallSites } = require('../call-sites.cjs');
const { helpersName, otherHelpersName } = require('../script-source.cjs');
const { watchSecrets } = require('../secret-watch.cjs');

const { observePlaywright, responseTimes, keepFailure, launchingMs } = requireUnseen('./page-observer.cjs');
const { observeFailures } = requireUnseen('./failure-observer.cjs');
const { validatorsWhenNeeded } = require('./test-details.cjs');
const { throttleSessions } = require('./throttling.cjs');
const { observeOutput } = requireUnseen('./output-observer.cjs');

watchSecrets();
keepCallSites();

Object.defineProperty(globalThis, Symbol.for('service.playwright-helpers'), {
  value: Object.freeze({
    markDegraded: (reason) => note({ event: 'degraded', reason: reason === null ? null : text(reason) }),
    responseTimeMs: (response) => responseTimes.get(response),
  }),
});

module.exports = { keepFailure, launchingMs };

/** Migrated projects import the package of helpers by this name; a package of their own takes precedence. */
const { _resolveFilename: resolveFilename } = Module;
Module._resolveFilename = function resolveHelpers(request, ...rest) {
  if (request !== otherHelpersName) return resolveFilename.call(this, request, ...rest);
  try {
    return resolveFilename.call(this, request, ...rest);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    return resolveFilename.call(this, helpersName, ...rest);
  }
};

const testTypeFile = path.join(modules ?? __dirname, 'playwright/lib/common/testType.js');
const load = Module._load;
Module._load = function loadObserved(request, ...rest) {
  if (request === './validators' && rest[0]?.filename === testTypeFile)
    return validatorsWhenNeeded(() => load.call(this, request, ...rest));
  const loaded = load.call(this, request, ...rest);
  if (typeof request !== 'string') return loaded;
  if (/^playwright(-core)?$|[\\/]playwright-core([\\/]index(\.js)?)?$/.test(request))
    observePlaywright(loaded);
  else if (/(^|[\\/])testInfo(\.js)?$/.test(request)) observeFailures(loaded);
  else if (/(^|[\\/])crConnection(\.js)?$/.test(request)) throttleSessions(loaded);
  else if (/(^|[\\/])testTracing(\.js)?$/.test(request)) observeOutput(loaded);
  return loaded;
};

/**
 * Loads a module of ours that runs between the script and Playwright. Playwright finds the place of a call in the
 * script by removing its own frames from the stack; our modules get file names inside Playwright, so that their frames
 * are removed, too.
 */
function requireUnseen(name) {
  const module = { exports: {} };
  const filename = path.join(process.env.PICKET_MODULES ?? __dirname, 'playwright', 'lib', name);
  const source = fs.readFileSync(path.join(__dirname, name), 'utf8');
  const run = vm.compileFunction(source, ['module', 'require'], { filename });
  run(module, require);
  return module.exports;
}
