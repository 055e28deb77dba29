'use strict';
/**
 * The modules that setup and teardown scripts, their files and snippets do without (check model 6), however they ask for them. It is
 * a rule of the interface: these scripts prepare a request and have no files, programs and browsers. What keeps a script
 * from anything is its sandbox; packages of the runtime use what they need. Browser and multi-step checks have all of Node's modules.
 */
const { registerHooks } = require('node:module');
const { pathToFileURL } = require('node:url');
const { getCallSites } = require('node:util');

const refused = [
  { names: ['fs', 'fs/promises', 'sqlite'], why: 'they have no files of their own' },
  { names: ['child_process', 'cluster', 'worker_threads'], why: 'they start no programs and threads' },
  { names: ['playwright', 'playwright-core', '@playwright'], why: 'they have no browser' },
];

/** Refuses those modules from now on to code of a folder. @param directory of the run. */
function refuseModules(directory) {
  const folder = pathToFileURL(`${directory}/`).href;
  const isScripts = (from) =>
    from !== undefined && (from.startsWith(folder) || from.startsWith(`${directory}/`));
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (isScripts(context.parentURL)) requireAllowed(specifier);
      return nextResolve(specifier, context);
    },
  });
  const { getBuiltinModule } = process;
  process.getBuiltinModule = (name) => {
    if (isScripts(getCallSites(2)[1]?.scriptName)) requireAllowed(String(name));
    return getBuiltinModule(name);
  };
}

/** @throws Error that says which module, and why. */
function requireAllowed(specifier) {
  const name = specifier.replace(/^node:/, '');
  const rule = refused.find(({ names }) => names.some((one) => name === one || name.startsWith(`${one}/`)));
  if (!rule) return;
  throw new Error(`Setup and teardown scripts cannot use ${JSON.stringify(specifier)}: ${rule.why}`);
}

module.exports = { refuseModules };
