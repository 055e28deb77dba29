'use strict';
/**
 * Uses the compiled code of a runtime's modules, which the operator made when the runtime was installed
 * (compile-modules.mjs). Node's own cache reads it, and compiles changed modules, or all of them under other flags of
 * V8, as usual.
 *
 * Runs only ever read it. Compiled code is not compared with its source, so a run that could write it could leave code
 * for other runs: where this process may write, nothing is used.
 */
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');

/** Below a runtime's modules, for one version of Node and one architecture. */
function compiledFolder(modulesDirectory) {
  return path.join(modulesDirectory, '.picket-compiled', `${process.version}-${process.arch}`);
}

/**
 * @param modulesDirectory the modules of the runtime.
 * @param ownFolder a folder of this run. Node looks for a folder in it that is named after the version, the flags, the
 *   processor and the user: a link leads from there to the runtime's.
 * @returns whether compiled code is used.
 */
function useCompiledCode(modulesDirectory, ownFolder) {
  const made = compiledFolder(modulesDirectory);
  if (!isReadOnly(made)) return false;
  try {
    fs.mkdirSync(ownFolder);
    fs.symlinkSync(made, path.join(ownFolder, nameByNode()));
  } catch (error) {
    // Another process of this run was first. A full disk is no reason to fail either.
    if (error.code !== 'EEXIST') return false;
  }
  return Module.enableCompileCache(ownFolder).status === Module.constants.compileCacheStatus.ENABLED;
}

function nameByNode() {
  // Needed once in a run, and large.
  const { cachedDataVersionTag } = require('node:v8');
  const tag = cachedDataVersionTag().toString(16).padStart(8, '0');
  return `${process.version}-${process.arch}-${tag}-${process.getuid()}`;
}

function isReadOnly(folder) {
  try {
    fs.accessSync(folder, fs.constants.R_OK | fs.constants.X_OK);
  } catch {
    return false; // made by another version of Node, or not at all
  }
  try {
    fs.accessSync(folder, fs.constants.W_OK);
    return false;
  } catch (error) {
    return error.code === 'EACCES' || error.code === 'EROFS';
  }
}

module.exports = { compiledFolder, useCompiledCode };
