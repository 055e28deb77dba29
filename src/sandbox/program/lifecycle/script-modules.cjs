'use strict';
/**
 * Modules that setup and teardown scripts, their files and snippets cannot use (check model 6), however they load them.
 * This is a rule of the interface: these scripts prepare a request and have no files, programs and browsers, and no
 * alternative way to load code. Security comes from the sandbox; packages of the runtime use what they need. Browser
 * and multi-step checks can use all Node modules.
 */
const fs = require('node:fs');
const { registerHooks } = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { getCallSites } = require('node:util');

const refused = [
  { names: ['fs', 'sqlite', 'wasi'], why: 'they have no files of their own' },
  { names: ['child_process', 'cluster', 'worker_threads'], why: 'they start no programs and threads' },
  {
    names: ['module', 'vm', 'inspector', 'repl', 'test'],
    why: 'they load code by require and import alone',
  },
  { names: ['playwright', 'playwright-core', '@playwright'], why: 'they have no browser' },
];

/**
 * Refuses those modules from now on to all code except packages and our own: a script can run code that is not in a
 * file, such as a `data:` URL.
 *
 * @param modulesDirectory of the runtime.
 */
function refuseModules(modulesDirectory) {
  const folders = [fs.realpathSync(modulesDirectory), path.dirname(__dirname)];
  const roots = folders.flatMap((folder) => [`${folder}/`, pathToFileURL(`${folder}/`).href]);
  const isOfPackage = (from) => from !== undefined && roots.some((root) => from.startsWith(root));
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (!isOfPackage(context.parentURL)) requireAllowed(specifier);
      return nextResolve(specifier, context);
    },
  });
  const isAskedByPackage = () => isOfPackage(getCallSites(3)[2]?.scriptName);
  const { getBuiltinModule, binding, dlopen } = process;
  process.getBuiltinModule = (name) => {
    if (!isAskedByPackage()) requireAllowed(String(name));
    return getBuiltinModule(name);
  };
  process.binding = (name) => {
    if (!isAskedByPackage()) throw refusal('process.binding', refused[2].why);
    return binding(name);
  };
  process.dlopen = (...given) => {
    // Node uses it to load the addons of packages.
    if (!isAskedByPackage() && getCallSites(2)[1]?.scriptName !== 'node:internal/modules/cjs/loader') {
      throw refusal('process.dlopen', refused[2].why);
    }
    return dlopen.apply(process, given);
  };
  // Its `require` would be ours.
  process.mainModule = undefined;
}

/** @throws Error with the module and the reason. */
function requireAllowed(specifier) {
  const name = specifier.replace(/^node:/, '');
  const rule = refused.find(({ names }) => names.some((one) => name === one || name.startsWith(`${one}/`)));
  if (rule) throw refusal(specifier, rule.why);
}

function refusal(what, why) {
  return new Error(`Setup and teardown scripts cannot use ${JSON.stringify(what)}: ${why}`);
}

module.exports = { refuseModules };
