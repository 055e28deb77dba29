'use strict';
/**
 * Uses the compiled code of a runtime's modules, which the operator made when the runtime was installed
 * (compile-modules.mjs). Node's own cache has only those functions that V8 compiles before a module begins: hardly any. This
 * code has all that a run needs, because it is taken when a sample run ends. Changed modules are compiled as usual.
 *
 * Runs only ever read it. V8 does not compare it with its source, so a run that could write it could leave code for other
 * runs: where this process may write, nothing is used.
 */
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');
const { crc32 } = require('node:zlib');

/** Data begins at a multiple of this. */
const alignment = 8;
const { _compile: compile } = Module.prototype;
const isOfPackage = /[\\/]node_modules[\\/]/;

/** The processes of a run need other functions: each reads the code of its own. */
const roles = ['runner', 'worker'];

/** Below a runtime's modules, for one version of Node and one architecture: the files of the roles. */
function compiledFolder(modulesDirectory) {
  return path.join(modulesDirectory, '.picket-compiled', `${process.version}-${process.arch}`);
}

/** Playwright's runner and plain scripts run in the process of launch.cjs, which gives its arguments other values later. */
const ownRole = path.basename(process.argv[1] ?? '') === 'launch.cjs' ? 'runner' : 'worker';

/** Uses what was made. It is read for the first module of a package: a script may start processes that load none. */
function useCompiledCode(modulesDirectory) {
  let modules;
  Module.prototype._compile = function compileWithData(content, filename, format) {
    if (isOfPackage.test(filename)) modules ??= madeCode(modulesDirectory);
    const known = modules?.get(filename);
    // V8 compares no more than the length of the source.
    const isSame = known && known.sourceSum === crc32(content) && known.dataSum === crc32(known.data);
    if (!isSame) return compile.call(this, content, filename, format);
    return run(this, filename, scriptOf(content, filename, known.data));
  };
}

function madeCode(modulesDirectory) {
  const file = path.join(compiledFolder(modulesDirectory), ownRole);
  try {
    if (isReadOnly(file) && isReadOnly(path.dirname(file))) return readCompiled(file);
  } catch {
    // Damaged.
  }
  return new Map();
}

/**
 * Records the compiled code of a sample run, and writes it when this process exits.
 *
 * @param folder each process of the run writes a file there that `readCompiled` reads. Its name begins with the role.
 */
function recordSample(modulesDirectory, folder) {
  const places = [modulesDirectory, __dirname].map((place) => place + path.sep);
  const { setFlagsFromString } = require('node:v8');
  // V8 forgets the code of functions that are no longer called.
  setFlagsFromString('--no-flush-bytecode');
  const recorded = new Map();
  Module.prototype._compile = function compileAndRecord(content, filename, format) {
    if (format === 'module' || !places.some((place) => filename.startsWith(place))) {
      return compile.call(this, content, filename, format);
    }
    let script;
    try {
      script = scriptOf(content, filename);
    } catch {
      return compile.call(this, content, filename, format); // an ES module, or an error that Node describes
    }
    recorded.set(filename, { sourceSum: crc32(content), script });
    return run(this, filename, script);
  };
  process.once('exit', () => {
    // Code is only valid for the flags that it was made with.
    setFlagsFromString('--flush-bytecode');
    const modules = [...recorded].map(([name, { sourceSum, script }]) => {
      const data = script.createCachedData();
      return [name, { sourceSum, dataSum: crc32(data), data }];
    });
    writeCompiled(path.join(folder, `${ownRole}-${process.pid}`), new Map(modules));
  });
}

/** As Node compiles CommonJS modules, but as a script, because the code of scripts alone can be taken later. */
function scriptOf(content, filename, cachedData) {
  const [before] = Module.wrapper;
  return new vm.Script(Module.wrap(content), {
    filename,
    columnOffset: -before.length,
    cachedData,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

function run(module, filename, script) {
  const wrapper = script.runInThisContext();
  return wrapper.call(
    module.exports,
    module.exports,
    requireOf(module),
    module,
    filename,
    path.dirname(filename),
  );
}

/** The `require` of a module, with the properties that Node documents. */
function requireOf(module) {
  const require = (id) => module.require(id);
  const resolve = (request, options) => Module._resolveFilename(request, module, false, options);
  resolve.paths = (request) => Module._resolveLookupPaths(request, module);
  return Object.assign(require, {
    resolve,
    main: process.mainModule,
    extensions: Module._extensions,
    cache: Module._cache,
  });
}

/** Returns the modules of a file, by their path: V8's data, with the CRC-32 of the source and of the data. */
function readCompiled(file) {
  const bytes = fs.readFileSync(file);
  const start = alignment + bytes.readUInt32LE(0);
  const index = JSON.parse(bytes.toString('utf8', alignment, start));
  return new Map(
    index.map(([name, sourceSum, dataSum, offset, length]) => [
      name,
      { sourceSum, dataSum, data: bytes.subarray(start + offset, start + offset + length) },
    ]),
  );
}

/** A length, an index in JSON, and the data of each module. */
function writeCompiled(file, modules) {
  const index = [];
  const parts = [];
  let offset = 0;
  for (const [name, { sourceSum, dataSum, data }] of modules) {
    const padding = Buffer.alloc(missingTo(data.length));
    index.push([name, sourceSum, dataSum, offset, data.length]);
    parts.push(data, padding);
    offset += data.length + padding.length;
  }
  const text = Buffer.from(JSON.stringify(index));
  const json = Buffer.concat([text, Buffer.alloc(missingTo(text.length), ' ')]);
  const head = Buffer.alloc(alignment);
  head.writeUInt32LE(json.length);
  fs.writeFileSync(file, Buffer.concat([head, json, ...parts]));
}

function missingTo(length) {
  return (alignment - (length % alignment)) % alignment;
}

function isReadOnly(place) {
  try {
    fs.accessSync(place, fs.constants.R_OK);
  } catch {
    return false; // made by another version of Node, or not at all
  }
  try {
    fs.accessSync(place, fs.constants.W_OK);
    return false;
  } catch (error) {
    return error.code === 'EACCES' || error.code === 'EROFS';
  }
}

module.exports = { roles, compiledFolder, useCompiledCode, recordSample, readCompiled, writeCompiled };
